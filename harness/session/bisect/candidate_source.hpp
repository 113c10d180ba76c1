// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "harness/analysis/report/bisection.hpp"
#include "harness/results/labels/run_labels.hpp"

namespace plumb::session {

/// A candidate that is ready to be measured. It cannot be if `problem` says why.
struct ReadyCandidate {
  std::string stack{};  ///< name, or path of a folder
  results::RunLabels labels{};
  std::string problem{};
  std::vector<std::string> tail{};  ///< of a build's log
  std::string log{};
  bool built = false;    ///< now, and not before
  bool stopped = false;  ///< by the user
};

/// Source of an ordered line of candidates, from a good one to a bad one.
class CandidateSource {
 public:
  CandidateSource() = default;
  CandidateSource(const CandidateSource&) = delete;
  CandidateSource& operator=(const CandidateSource&) = delete;
  CandidateSource(CandidateSource&&) = delete;
  CandidateSource& operator=(CandidateSource&&) = delete;
  virtual ~CandidateSource() = default;

  [[nodiscard]] virtual std::string unit() const = 0;  ///< "stack" or "commit"
  [[nodiscard]] virtual const std::vector<analysis::BisectionCandidate>& line() const = 0;
  /// Returns everything besides the line that decides what a candidate is.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Makes a candidate ready, which stays so while this object lives. `report` says what is done.
  [[nodiscard]] virtual ReadyCandidate prepare(
      std::size_t candidate, const std::function<void(const std::string&)>& report) = 0;
};

}  // namespace plumb::session
