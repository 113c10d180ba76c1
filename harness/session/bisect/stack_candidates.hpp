// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/session/bisect/candidate_source.hpp"

namespace plumb::session {

/// Stacks between a good one and a bad one, in the order of their libraries' versions.
class StackCandidates final : public CandidateSource {
 public:
  /// Starts a worker of each stack to learn its version. `between` names stacks that may lie
  /// between the two; none: all of the backend. A bad stack may be older than the good one.
  StackCandidates(const std::string& good,
                  const std::string& bad,
                  std::vector<std::string> between,
                  int threads,
                  const std::string& device = {});

  [[nodiscard]] std::string unit() const override { return "stack"; }
  [[nodiscard]] const std::vector<analysis::BisectionCandidate>& line() const override {
    return line_;
  }
  [[nodiscard]] std::string identity() const override { return identity_; }
  [[nodiscard]] ReadyCandidate prepare(
      std::size_t candidate, const std::function<void(const std::string&)>& report) override;

 private:
  std::vector<analysis::BisectionCandidate> line_;
  std::string identity_;  ///< the environments of all stacks
};

}  // namespace plumb::session
