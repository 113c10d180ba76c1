// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/profile/code_listing.hpp"
#include "harness/results/profile/sampled_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Samples of one function in one step.
struct ProfileCell {
  using Count = BlockCount;
  std::uint32_t step = kNoStep;
  std::uint32_t function = 0;
  BlockCounts counts;
};

/// Calls that led to samples of a thread in a step.
struct ProfiledStack {
  std::uint32_t step = kNoStep;
  std::vector<std::uint32_t> functions;  ///< outermost first; the last one has the samples
  std::uint64_t samples = 0;
  std::uint32_t thread = 0;  ///< 0: the one that executes the steps
};

/// Run whose profile is part of a merged one.
struct MergedRun {
  std::string run;  ///< its id
  Timestamp started{};
  std::string environment;   ///< its identity, the same of all runs that are merged
  std::uint64_t blocks = 0;  ///< of the merged profile
};

/// Profile of a model's executions whose samples have names.
struct NamedProfile {
  std::string model;  ///< on one line, with its batch and type
  std::string mode;
  std::string stack;
  SamplingClock clock = SamplingClock::kTimer;
  std::string refused;      ///< as in SampledProfile
  double asked_rate = 0.0;  ///< as in SampledProfile
  double rate = 0.0;        ///< as in SampledProfile
  std::uint64_t threads = 1;
  std::uint64_t lost = 0;
  std::vector<ProfiledStep> steps;
  std::vector<std::string> step_names;  ///< by step
  std::vector<ProfiledBlock> blocks;
  std::vector<ProfiledFunction> functions;
  std::vector<ProfileCell> cells;  ///< one for each step and function that has samples
  /// Of all samples. Empty: they are of one thread, without calls, or the profile is from a store.
  std::vector<ProfiledStack> stacks;
  std::vector<CodeListing> listings;  ///< of the functions with most samples, these first
  std::vector<std::string> problems;  ///< files without symbols, and why
  /// Runs that the blocks are of, in their order: merged. Empty: they are of one run.
  std::vector<MergedRun> runs;
  /// Blocks of each process, in their order. Empty: one process has all, or it is not known.
  std::vector<std::uint64_t> processes;
};

/// Profile that a run keeps of one of its models.
struct StoredProfile {
  RunId run;
  std::string subject;  ///< of the model, as the run's executions have it
  Timestamp taken{};    ///< when it was complete
  NamedProfile profile;
};

/// Blocks that a stored profile needs at most: a bootstrap draws no more groups of them.
inline constexpr std::size_t kMaxStoredBlocks = 200;

/// Returns whether a profile's processes have all of its blocks, and each at least one. None are
/// told apart: true. Pure.
[[nodiscard]] bool has_whole_processes(const NamedProfile& profile);

/// Returns a profile whose listings have their hot instructions alone. Pure.
[[nodiscard]] NamedProfile condense_listings(NamedProfile profile);

/// Returns what a store keeps of a profile. Consecutive blocks of a process are joined, so that at
/// most `blocks` are left. Where these are fewer than the processes, those of several are joined,
/// and processes are no longer told apart. Listings are condensed. Pure.
[[nodiscard]] NamedProfile condense_profile(NamedProfile profile,
                                            std::size_t blocks = kMaxStoredBlocks);

}  // namespace plumb::results
