// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/base/units.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {

/// Time of a layer inside an executed model, beside that of the same variant alone.
struct LayerInModel {
  std::string name;
  model::LayerKey key;
  std::string variant;
  Seconds inside{};  ///< in the passes that time each step by itself
  Seconds alone{};   ///< its own row in this run: activations refreshed, weights cold
};

/// Times of one mode of a model end to end, over the processes that executed it. The harness
/// overhead is subtracted.
struct ExecutionTime {
  std::string mode;
  loadgen::ScenarioName scenario = loadgen::ScenarioName::kSingleStream;
  std::optional<results::ShapeTurn> turn = {};  ///< among other shapes; absent: it was alone
  bool library_choice = false;  ///< how the library executes a model when it is asked for nothing
  results::Outcome outcome;
  Seconds median{};
  measure::Interval interval{};
  Seconds p90{};
  Seconds p99{};
  std::size_t samples = 0;           ///< of all processes; 0: there is no time
  std::vector<double> process_logs;  ///< ln(median) of each quiet process, in order
  bool disturbed = false;            ///< in every process
  Bytes memory;
  std::int64_t reorders = 0;
  std::string output_hash;                ///< of the output's bytes; empty if not computed
  std::optional<double> maximum_error;    ///< against the plain result; absent: nothing compared
  std::vector<LayerInModel> differences;  ///< where layers take another time inside than alone
  results::Readings readings = {};        ///< of the device, over these processes
  results::Attributes attributes = {};    ///< what the backend says of how it executed the model
};

/// One bound or estimate.
struct Bound {
  results::BoundKind kind{};
  std::string mode;  ///< "plain", "fusion"
  Seconds seconds{};
  measure::Interval interval{};
  bool complete = false;  ///< every layer has a time; else the sum of those that have one
  std::optional<Timestamp> oldest_row;
  std::vector<results::RowId> inputs;
  std::vector<std::string> lacks = {};  ///< what an estimate leaves out, in words
};

/// Returns the time of a bound, or of the measured part of an incomplete one. Absent: nothing of it
/// is measured.
[[nodiscard]] std::optional<Seconds> known_time(const Bound& bound);

/// Returns whether no execution in this mode can beat a bound. The bound must be complete. Its kind
/// must be `hardware`, `hardware_update`, or `library` (with parallel branches `library_parallel`)
/// with or without fusion as the execution. False for executions in another type than the model's.
[[nodiscard]] bool must_not_exceed(const Bound& bound, const ExecutionTime& execution);

/// Step of a partition or of the critical path: a layer, or several fused into one.
struct PartitionStep {
  std::vector<model::LayerId> layers;
  std::string rewrite;  ///< empty: the plain layer
  model::LayerKey key;
  std::optional<KeyTime> time;  ///< absent: not measured
  bool critical = false;        ///< one of its layers lies on the critical path
};

/// Bounds, estimates and findings from one model's layers, and its end-to-end times.
struct ModelBounds {
  ModelInstance instance;
  std::size_t measured_layers =
      0;  ///< layers with a time, plus views and folded ones, which cost nothing
  std::size_t total_layers = 0;
  struct Unsupported {
    std::string layer;
    std::string key;
    std::string reason;
    std::optional<results::Outcome::Kind> outcome = {};  ///< absent: nothing was attempted
  };
  std::vector<Unsupported> unsupported;
  std::vector<Bound> bounds;
  std::vector<PartitionStep> cover;           ///< of `library`, mode fusion: topological order
  std::vector<PartitionStep> critical_steps;  ///< of `library_parallel`, mode fusion: source to
                                              ///< sink; their times add up to it
  std::vector<PartitionStep> plain_critical_steps = {};  ///< likewise, mode plain
  std::vector<model::LayerId> critical_path;  ///< the layers of critical_steps, source to sink
  std::vector<ExecutionTime> executions;      ///< end to end, in the same run; see add_executions()
  std::vector<ExecutionTime> alternations = {};  ///< among other shapes of the model, in that run
  std::vector<results::ScenarioResult> loads;    ///< by MLPerf's scenarios, in that run; see
                                                 ///< add_loads()
  std::vector<std::string>
      findings;  ///< fell back to a reference; a bound above another it must not exceed…
  std::vector<std::string> disturbances;  ///< rows and executions that were disturbed or unstable
};

/// Returns a bound, complete or not. `mode`: "plain", "fusion", or "any" for `hardware`. nullptr:
/// there is none.
[[nodiscard]] const Bound* find_bound(const ModelBounds& model,
                                      results::BoundKind kind,
                                      std::string_view mode);
/// Returns a bound as find_bound() does, if it is complete.
[[nodiscard]] const Bound* find_complete(const ModelBounds& model,
                                         results::BoundKind kind,
                                         std::string_view mode);
/// Returns the time of such a bound.
[[nodiscard]] std::optional<Seconds> complete_time(const ModelBounds& model,
                                                   results::BoundKind kind,
                                                   std::string_view mode);

/// Returns the findings and the disturbances of a model.
[[nodiscard]] std::vector<std::string> all_findings(const ModelBounds& model);

}  // namespace plumb::analysis
