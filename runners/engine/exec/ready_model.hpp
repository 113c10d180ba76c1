// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/exec/mode_graph.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

/// Whole model prepared in one mode. Once it is ready, its weights and inputs are in place and it
/// has been executed once.
struct ReadyModel {
  results::Outcome outcome;  ///< if not ok: why there is no program, or why its result is wrong
  ModeGraph plan;
  worker::PreparedModel prepared;  ///< slot 0 is bound once ready
  worker::PreparedModel observed;  ///< of plan.observed; freed once ready
  Magnitudes magnitudes;           ///< of the values of plan.observed
  std::vector<model::Tensor> outputs;
  Seconds first_call{};
  std::optional<Bytes> preparation;  ///< memory that making the plan took; not in prepared.memory
  std::optional<Bytes> resident;     ///< memory that it took until it was executed once
  std::vector<double> rounding;  ///< of a step of training: measure_rounding(); empty: not known
};

/// Plans a model in one mode. The backend checks its memory, but nothing is allocated. Throws
/// Error{kUser} for a request that does not fit the model.
[[nodiscard]] ReadyModel prepare_mode(worker::Backend& backend,
                                      const RequestedModel& model,
                                      const worker::ModeRequest& mode);

/// Binds weights and inputs of a filled model to slot 0 and executes it once. An output that is
/// infinite or not a number is kWrongResult, and so is one that differs from that of the same
/// launches one by one (Program::outputs_launch_by_launch()). So is a step of training all of whose
/// gradients are 0. Throws std::bad_alloc.
void make_ready(const RequestedModel& model, const measure::Clock& clock, ReadyModel& ready);

/// Adds the readings of a model's memory to its row: kPreparationMemory and kResidentMemory.
void add_memory_readings(const ReadyModel& ready, results::Measurement& row);

}  // namespace plumb::engine
