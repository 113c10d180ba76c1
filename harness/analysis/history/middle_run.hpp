// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "harness/analysis/compare/learned_noise.hpp"

namespace plumb::analysis {

/// Returns the index of the run in the middle of several. Runs are ordered by the mean of ln(time)
/// over the models' series, or without models over the layers'. Only series that every run has
/// count. Of an even number, it is the slower of the two in the middle. Needs at least one run.
/// Pure.
[[nodiscard]] std::size_t middle_run(std::span<const RunTimes> runs);

}  // namespace plumb::analysis
