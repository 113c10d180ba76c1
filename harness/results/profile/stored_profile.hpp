// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "harness/base/timestamp.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

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
