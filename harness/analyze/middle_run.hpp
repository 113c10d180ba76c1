// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "harness/analyze/learned_noise.hpp"

namespace plumb {

/// Returns the index of the run in the middle of several: by the mean over the models' series of
/// ln(time), each against that series' mean over the runs; without models, over the layers'. Only
/// series that every run has count. Of an even number, the slower of the two in the middle. Needs a
/// run at least. Pure.
[[nodiscard]] std::size_t middle_run(std::span<const RunTimes> runs);

}  // namespace plumb
