// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Choice of stored runs whose profiles of one model are merged.
struct MergedRunsChoice {
  std::string runs;  ///< one, or several as find_named_runs() takes them
  /// Runs in all, where one is named: it, and the newest ones before it of its suite and
  /// environment that have a profile of the model.
  std::size_t newest = 1;
  std::string model;  ///< name or subject; empty: the runs have profiles of one model only
};

/// Profiles of a model by several runs, of each environment, mode and clock one.
struct MergedRuns {
  std::vector<results::NamedProfile> profiles;  ///< that of the newest run last
  std::size_t without = 0;                      ///< runs that keep no profile of the model
};

/// Runs that are merged at most.
inline constexpr std::size_t kMaxMergedRuns = 500;

/// Reads the profiles of the chosen runs one after the other, and merges them (RunMerger). Throws
/// Error{kUser} for a run that is not there, if no run has a profile of the model, and if the
/// profiles are of several models.
[[nodiscard]] MergedRuns read_merged_runs(const store::Store& store,
                                          const MergedRunsChoice& choice);

}  // namespace plumb::session
