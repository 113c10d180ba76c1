// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::session {

/// Modes in which models are executed.
struct WantedModes {
  std::vector<results::ExecutionMode> modes;    ///< none: those that the run has times for
  results::VariantId::DivisionRule division{};  ///< in the mode micro_batch
  bool alternations = true;                     ///< shapes are executed among each other, too
};

/// Returns whether one of the modes divides batches.
[[nodiscard]] bool has_micro_batch(std::span<const results::ExecutionMode> modes);

/// Returns the models in other forms, whose layers are measured as well: f32 models in other types,
/// which are those of `types` and of modes with best_variant, steps of training with folded batch
/// normalisations, if a mode folds them, and with all that a mode's family of fusions joins, in the
/// type of that mode.
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

/// Measures the machine's controls through `measure`, with one request for each. Absent: one of
/// them got no time.
[[nodiscard]] std::optional<results::Controls> measure_controls(
    const std::function<
        std::vector<results::Measurement>(const worker::WorkerService::MeasureRequest&)>& measure);

/// Finds the first full row with a time. For a request of one variant it is the only one.
[[nodiscard]] std::vector<results::Measurement>::const_iterator first_timed(
    const std::vector<results::Measurement>& rows);

/// Executes the variants of timed rows of one key once more, under the device's profiler. A worker
/// of its own does so, and what the profiler shows is added to the rows' attributes and readings.
/// The rows' times stay as they are, and an attribute that is "unknown" replaces nothing. At most
/// 16 variants are executed: the library's choice and the fastest. If this fails, the reason is
/// logged, and rows keep it as the attribute "kernels_missing".
void look_at_kernels(worker::WorkerProcess::Options settings,
                     Seconds timeout,
                     std::vector<results::Measurement>& rows);

/// Executes variants once more, as look_at_kernels() does, and adds the device's counters.
/// `metrics` has their names (parse_metric_names()); none stand for the backend's own choice. The
/// attribute "metrics_missing" states what is missing.
void look_at_counters(worker::WorkerProcess::Options settings,
                      Seconds timeout,
                      std::vector<std::string> metrics,
                      std::vector<results::Measurement>& rows);

/// Adds to timed rows the reason why there are no counters, and logs it.
void miss_counters(const std::string& reason, std::vector<results::Measurement>& rows);

}  // namespace plumb::session
