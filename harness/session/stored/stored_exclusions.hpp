// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/results/exclusion.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Reads the exclusions of a run's suite, as they were when it began or was last resumed.
[[nodiscard]] std::vector<results::Exclusion> read_exclusions(const store::Store& store,
                                                              const results::RunId& run);

/// Reads those that hold on the day when the run began.
[[nodiscard]] std::vector<results::Exclusion> holding_exclusions(const store::Store& store,
                                                                 const results::RunHeader& run);

}  // namespace plumb::session
