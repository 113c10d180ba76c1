// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Input of what-ifs: one model's graph and its rows, which it refers to. It keeps graphs in other
/// types and their partitions, since several what-ifs ask for the same. For one thread at a time.
class WhatIfInput {
 public:
  /// Step of training at one of a model's batches.
  struct TrainedBatch {
    ModelInstance instance;
    Bytes memory;                ///< of its graph, without what a library adds
    measure::MeasuredTime time;  ///< sum of its layers by the library's choices, hot
  };

  WhatIfInput(const ModelInstance& of_instance,
              const model::Graph& of_graph,
              const ResultSet& of_results,
              const CoSchedule::Scaling* of_scaling = nullptr)
      : instance(of_instance), graph(of_graph), results(of_results), scaling(of_scaling) {}

  /// Returns the graph in a type of suites. Empty: the model's own.
  [[nodiscard]] const model::Graph& graph_in(std::string_view type) const;
  /// Returns the cheapest partition of that graph, and the one with the shortest critical path. A
  /// family restricts what is fused (partition_model()).
  [[nodiscard]] const ModelPartition& partition_in(std::string_view type,
                                                   ModelPartition::Mode mode,
                                                   std::string_view family = {}) const;

  const ModelInstance& instance;
  const model::Graph& graph;
  const ResultSet& results;
  results::VariantId::DivisionRule division{};  ///< of batches
  std::optional<results::ExecutedTrace::Losses>
      traced;                               ///< newest trace that the run keeps of the model
  const CoSchedule::Scaling* scaling;       ///< null: nothing is known of other thread counts
  std::span<const TrainedBatch> batches{};  ///< of all models of the run whose memory is capped
  const ResultSet* padded = nullptr;        ///< layers with padded channels, of any run
  std::optional<bool> on_device;            ///< a device executes launches; absent: unknown

  /// Returns why branches cannot run side by side in this run. Empty: they can, or it is unknown.
  [[nodiscard]] std::string why_no_branches() const;

 private:
  mutable std::map<std::string, model::Graph, std::less<>> typed_;
  mutable std::map<std::tuple<std::string, ModelPartition::Mode, std::string>, ModelPartition>
      partitions_;
};

/// Answer to "what would this change of mode bring?".
struct WhatIfResult {
  /// What switches an option of a mode on outside of Plumbline.
  struct Setting {
    std::string_view option;     ///< word of the mode: "bf16"
    std::string_view framework;  ///< "oneDNN", "cuDNN", "cuBLASLt", "ONNX Runtime", "PyTorch"
    std::string_view setting;    ///< a call, an option or a variable
  };

  /// Distance of a predicted saving from the realised one, as a share of the realised baseline.
  struct PredictionError {
    double share = 0.0;  ///< |predicted saving − realised saving|
    double low = 0.0;    ///< 95%; 0: by their intervals, both savings may be equal
    double high = 0.0;
  };

  std::string name;  ///< of the row in the table of what-ifs
  std::string mode;  ///< what would be switched on, in words
  std::optional<Seconds> baseline;
  measure::Interval baseline_interval{};
  std::optional<Seconds> predicted;
  measure::Interval predicted_interval{};
  std::optional<double> predicted_speedup;   ///< baseline ÷ predicted
  std::optional<double> samples_per_second;  ///< predicted, where another batch is what changes
  struct LayerSaving {
    std::string layer;
    model::LayerKey key;
    Seconds before{};
    Seconds after{};
    std::string change;  ///< "jit:avx2 → brgconv:avx512_core"
  };
  /// The largest saving comes first. In sum they are the predicted saving.
  std::vector<LayerSaving> layers;
  bool of_plans = false;  ///< both times are prices of executed plans, not sums of hot layers
  std::vector<std::string> prerequisites;
  std::string why_not;         ///< non-empty: no prediction, and why
  bool applies = true;         ///< false: `why_not` says what the model or the run is not
  bool combination = false;    ///< of several what-ifs, found by a search
  std::string execution_mode;  ///< the mode that switches it on (docs/reference/execution.md);
                               ///< empty: none does
  std::string baseline_mode = "plain";       ///< the mode without it
  bool plans_tell = true;                    ///< the prices of executed plans hold what it changes
  std::optional<Seconds> realised_baseline;  ///< end to end without it; absent: not executed
  measure::Interval realised_baseline_interval{};
  std::optional<Seconds> realised;  ///< end to end with it switched on
  measure::Interval realised_interval{};
  std::optional<double> realised_speedup;  ///< realised_baseline ÷ realised
  std::optional<PredictionError> prediction_error;
  std::string not_judged;  ///< non-empty: why a realised saving says nothing of the prediction
  std::optional<Bytes> realised_baseline_memory;
  std::optional<Bytes> realised_memory;
  std::optional<double> realised_difference;  ///< of the outputs from the baseline's, relative to
                                              ///< the largest; absent: nothing compared
  std::string command;  ///< that executes the model with the change switched on
};

/// Returns the baseline less the predicted time. Absent: there is no prediction.
[[nodiscard]] std::optional<Seconds> predicted_saving(const WhatIfResult& result);

/// Returns the predicted saving with its interval: the half intervals of both times add as the root
/// of the sum of squares.
[[nodiscard]] std::optional<measure::MeasuredTime> saving_with_interval(const WhatIfResult& result);

/// Fills in both times, their intervals and the speed-up, and sorts the savings, largest first.
void conclude(WhatIfResult& result,
              const measure::MeasuredTime& baseline,
              const measure::MeasuredTime& predicted);

/// Prices a model in a mode from hot times of its layers: the sum over the steps of the mode, each
/// by its fastest variant, or without `best_variant` by the library's own choice.
///
/// Absent: a step has no such time, or the mode changes what hot times do not hold (layouts,
/// launches, branches).
[[nodiscard]] std::optional<measure::MeasuredTime> price_mode(const WhatIfInput& input,
                                                              const results::ExecutionMode& mode);

/// Prices a model of f32 by its layers as written, fastest variants, hot: what another type is set
/// against. Absent: `result` says why.
[[nodiscard]] std::optional<ModelPartition::Priced> price_in_f32(const WhatIfInput& input,
                                                                 WhatIfResult& result);

/// Returns the settings of a mode's options. A framework that has none for an option is not listed.
[[nodiscard]] std::vector<WhatIfResult::Setting> settings_of(std::string_view execution_mode);

/// Returns the accuracy class of a mode of execution: "same", or the type in which it computes
/// ("bf16", "f16", "tf32", "int8"). "same" keeps the types. It may order sums differently, or use
/// another algorithm. Without a mode it is "same", too.
[[nodiscard]] std::string accuracy_class(std::string_view execution_mode);

}  // namespace plumb::analysis
