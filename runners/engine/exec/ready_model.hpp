// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/exec/mode_graph.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

/// Chooses the variants of a mode's steps that together take the least time.
///
/// A set of variants costs the layers' times alone plus the price of the reorders that the backend
/// plans between them. The backend itself plans every set that is tried. These sets are tried:
///
/// - none named, which is the library's own choices
/// - every key's fastest variant
/// - for each layout (`layout=…` in the variant's text), every key's fastest variant in it
/// - from the best of these, other variants key by key, the key with most to gain first, until
///   nothing gets better
///
/// A variant is tried only if it is at least 3% faster alone than the library's choice, and at most
/// four of a key are. After two seconds of `clock` no further set is tried, so that the result need
/// not be the optimum. A step with one choice has it in every set. Keys that are missing in the
/// result are left to the library.
[[nodiscard]] worker::LayerVariants chosen_variants(worker::Backend& backend,
                                                    const model::Graph& graph,
                                                    const worker::ModeRequest& request,
                                                    const measure::Clock& clock);

/// Whole model prepared in one mode. Once it is ready, its weights and inputs are in place and it
/// has been executed once.
struct ReadyModel {
  results::Outcome outcome;  ///< if not ok: why there is no program, or why its result is wrong
  ModeGraph plan;
  worker::Backend::PreparedModel prepared;  ///< slot 0 is bound once ready
  worker::Backend::PreparedModel observed;  ///< of plan.observed; freed once ready
  Magnitudes magnitudes;                    ///< of the values of plan.observed
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
