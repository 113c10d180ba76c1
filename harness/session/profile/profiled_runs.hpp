// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Runs that are read at most: the newest.
inline constexpr std::size_t kMaxProfiledRuns = 500;

/// Reads the profiles of the runs that finished and started after a moment. Those that were sampled
/// while they were timed are left out: their times include the samples' cost.
[[nodiscard]] std::vector<analysis::DatedProfile> read_dated_profiles(const store::Store& store,
                                                                      Timestamp after);

}  // namespace plumb::session
