// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/results/execution.hpp"
#include "runners/engine/ready_model.hpp"

namespace plumb {

/// Executes a ready model step by step, `passes` times, and adds up what each layer's steps took by
/// the median of the passes: its own time, and the reorders before it apart. Layers stand in the
/// order executed; last, without layers, what makes the outputs dense. Empty if the program cannot
/// tell, or for no passes.
[[nodiscard]] std::vector<ExecutedLayer> profile_model(const ReadyModel& ready, std::size_t passes);

/// Says how times in turn are taken.
struct TurnProfile {
  Bytes most;        ///< of other steps' weights to read before a step
  Seconds floor{};   ///< of timing one step
  Seconds budget{};  ///< after which no further pass begins
  Clock clock;
};

/// Fills `in_turn` of the layers that profile_model() gave. Steps that are the same step of the
/// same key and variant, after the same, are timed once for all of them; reorders each by itself.
/// At least three passes, at most seven. Adds nothing if the program cannot tell.
void add_times_in_turn(const ReadyModel& ready,
                       const TurnProfile& profile,
                       std::vector<ExecutedLayer>& layers);

}  // namespace plumb
