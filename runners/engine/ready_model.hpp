// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/worker/backend.hpp"
#include "runners/engine/mode_graph.hpp"
#include "runners/engine/requested_model.hpp"

namespace plumb {

/// Whole model prepared in one mode. Once made ready, its weights and inputs are in place and it
/// has been executed once.
struct ReadyModel {
  Outcome outcome;  ///< not ok: why there is no program, or what is wrong with its result
  ModeGraph plan;
  PreparedModel prepared;  ///< slot 0 bound once ready
  PreparedModel observed;  ///< of plan.observed; gone once ready
  Magnitudes magnitudes;   ///< that it saw
  std::vector<Tensor> outputs;
  Seconds first_call{};
};

/// Plans a model in one mode; its memory is checked, and nothing is allocated. Throws Error{kUser}
/// for a request that does not fit the model.
[[nodiscard]] ReadyModel prepare_mode(Backend& backend,
                                      const RequestedModel& model,
                                      const ModeRequest& mode);

/// Puts weights and inputs of a filled model in place and executes it once. An output that is
/// infinite or not a number is kWrongResult. Throws std::bad_alloc.
void make_ready(const RequestedModel& model, const Clock& clock, ReadyModel& ready);

}  // namespace plumb
