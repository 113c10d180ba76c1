// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/results/exclusion.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Reads the exclusions of a run's suite, as they were when it began or was last resumed.
[[nodiscard]] std::vector<Exclusion> read_exclusions(const Store& store, const RunId& run);

/// Reads those that hold on the day when the run began.
[[nodiscard]] std::vector<Exclusion> holding_exclusions(const Store& store, const RunHeader& run);

}  // namespace plumb
