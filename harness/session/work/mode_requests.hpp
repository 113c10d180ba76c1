// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/results/division/divided_variant.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {

/// Modes in which models are executed.
struct WantedModes {
  std::vector<results::ExecutionMode> modes;  ///< none: those that the run has times for
  results::DivisionRule division{};           ///< in the mode micro_batch
  bool alternations = true;                   ///< shapes are executed among each other, too
};

/// Returns whether one of the modes divides batches.
[[nodiscard]] bool has_micro_batch(std::span<const results::ExecutionMode> modes);

/// Returns the models in other forms, whose layers are measured as well: f32 models in other types,
/// which are those of `types` and of modes with best_variant, steps of training with folded batch
/// normalisations, if a mode folds them, and with all that a mode's family of fusions joins.
[[nodiscard]] std::vector<PlannedModel> models_in_other_forms(
    std::span<const PlannedModel> models,
    std::span<const results::ExecutionMode> modes,
    std::set<std::string> types);

/// Reads a run's rows, with the newest calibration of its environment.
[[nodiscard]] analysis::ResultSet read_result_set(const store::Store& store,
                                                  const results::RunId& run);

/// Makes the requests for the modes in which a model is to be executed.
///
/// If no modes are wanted, they are plain, fusion, channels_last where there are convolutions, and
/// what the run has times for. That is best_variant, best_variant+fusion and, of an f32 model, the
/// modes of other types: bf16, f16 and channels_last+f16, all together, fusion+int8.
///
/// A mode with best_variant gets its steps from the run's own rows: the cheapest partition that the
/// mode allows. Each step has the times of its variants, and the calibrated bandwidth is the price
/// of reorders. Without a calibration there is only the fastest variant. Without a time for every
/// layer the mode is left out.
///
/// The mode micro_batch gets the layers that it divides, each by the rule of division. Without
/// the times of smaller batches it is left out.
[[nodiscard]] std::vector<worker::ModeRequest> mode_requests(const PlannedModel& model,
                                                             const analysis::ResultSet& results,
                                                             const WantedModes& wanted);

}  // namespace plumb::session
