// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/session/bisect/candidate_source.hpp"
#include "harness/stacks/built/build_cache.hpp"

namespace plumb::session {

/// Commits of a git repository along first parents, each built in a worktree of its own.
class CommitCandidates final : public CandidateSource {
 public:
  /// Which commits are searched, and how they become stacks.
  struct Options {
    std::filesystem::path repository;
    std::string good;
    std::string bad;
    stacks::BuildRecipe recipe;
    std::size_t keep_builds = 16;
  };

  /// Keeps a reference to `stop`. Throws Error{kUser} for a line or a folder that cannot be.
  CommitCandidates(Options options, const std::atomic<bool>& stop);

  [[nodiscard]] std::string unit() const override { return "commit"; }
  [[nodiscard]] const std::vector<analysis::BisectionCandidate>& line() const override {
    return line_;
  }
  [[nodiscard]] std::string identity() const override;
  /// Builds a commit, or finds its build. Its stack folder must be a stack that a worker starts
  /// with.
  [[nodiscard]] ReadyCandidate prepare(
      std::size_t candidate, const std::function<void(const std::string&)>& report) override;

 private:
  Options options_;
  stacks::GitRepository repository_;
  stacks::BuildCache cache_;
  std::vector<analysis::BisectionCandidate> line_;
  std::map<std::size_t, stacks::CommitBuild> held_;  ///< builds that the cache must keep
};

}  // namespace plumb::session
