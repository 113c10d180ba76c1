// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Adds the blocks and samples of another process to a profile of the same model, mode and stack.
/// The rate becomes the mean over blocks of both. Throws Error{kRefused} for another model, mode or
/// clock. Pure.
void merge_profile(const results::NamedProfile& more, results::NamedProfile& profile);

/// Merger of the profiles of many runs, one after the other.
///
/// What is merged is of one model, mode, clock and environment: so of one stack on equal machines.
/// Blocks of a run are joined, so that a merged profile has at most about kMaxMergedBlocks,
/// whatever the number of runs.
class RunMerger {
 public:
  /// Profile with what is known of its run.
  struct DatedProfile {
    Timestamp started{};      ///< of the run
    std::string system;       ///< see system_id()
    std::string environment;  ///< its identity: system, stack, threads and method
    results::StoredProfile stored;
  };

  static constexpr std::size_t kMaxMergedBlocks = 2000;

  /// `runs` are added at most.
  explicit RunMerger(std::size_t runs);

  /// Adds the profile of a run.
  void add(DatedProfile profile);

  /// Returns the merged profiles, of each environment, mode and clock one. That of the newest run
  /// comes last. The merger is empty then.
  [[nodiscard]] std::vector<results::NamedProfile> take();

 private:
  using Key = std::tuple<std::string, std::string, std::string, results::SampledProfile::Clock>;
  std::size_t blocks_;  ///< of a run
  std::map<Key, results::NamedProfile> profiles_;
};

/// Counts the samples of a profile by step, function and block. `names` has all their addresses.
/// What describes the model is left to the caller.
[[nodiscard]] results::NamedProfile name_samples(const results::SampledProfile& samples,
                                                 results::NamedProfile::CodeNames names);

}  // namespace plumb::analysis
