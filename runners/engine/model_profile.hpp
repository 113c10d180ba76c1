// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/results/execution.hpp"
#include "runners/engine/ready_model.hpp"

namespace plumb {

/// Executes a ready model step by step, `passes` times, and adds up what each layer's steps took by
/// the median of the passes: its own time, and the reorders before it apart. Layers stand in the
/// order executed; last, without layers, what makes the outputs dense. Empty if the program cannot
/// tell, or for no passes.
[[nodiscard]] std::vector<ExecutedLayer> profile_model(const ReadyModel& ready, std::size_t passes);

}  // namespace plumb
