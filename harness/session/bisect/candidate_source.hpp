// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/analysis/report/bisection.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/stacks/built/build_cache.hpp"

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

  [[nodiscard]] virtual analysis::Bisection::Unit unit() const = 0;
  [[nodiscard]] virtual const std::vector<analysis::BisectionCandidate>& line() const = 0;
  /// Returns everything besides the line that decides what a candidate is.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Makes a candidate ready, which stays so while this object lives. `report` says what is done.
  [[nodiscard]] virtual ReadyCandidate prepare(
      std::size_t candidate, const std::function<void(const std::string&)>& report) = 0;
};

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

  [[nodiscard]] analysis::Bisection::Unit unit() const override {
    return analysis::Bisection::Unit::kStack;
  }
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

  [[nodiscard]] analysis::Bisection::Unit unit() const override {
    return analysis::Bisection::Unit::kCommit;
  }
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
  std::map<std::size_t, stacks::BuildCache::Build> held_;  ///< builds that the cache must keep
};

}  // namespace plumb::session
