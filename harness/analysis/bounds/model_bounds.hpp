// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/base/units.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {

/// Identity of one analysed instance of a model. Results of different instances are never mixed.
struct ModelInstance {
  std::string model;
  std::int64_t batch = 1;
  std::string dtype = "f32";
  std::map<std::string, std::int64_t> dims = {};  ///< its other axes by name: sequence, image…
  std::string training = {};  ///< of a step, as rewrite::parse_step_choice() reads it; empty:
                              ///< inference

  auto operator<=>(const ModelInstance&) const = default;
};

/// Returns the model's name, and of a step of training also its optimiser.
[[nodiscard]] std::string full_name(const ModelInstance& instance);

/// Returns what a step of training leaves as it is, and its loss where one was asked for. Empty:
/// neither.
[[nodiscard]] std::string step_note(const ModelInstance& instance);

/// Returns how many samples one execution takes in: those of all micro-batches of a step.
[[nodiscard]] std::int64_t samples_of_step(const ModelInstance& instance);

/// Returns the memory that a step of training may take. Absent: there is no cap.
[[nodiscard]] std::optional<Bytes> memory_cap_of(const ModelInstance& instance);

/// Returns an instance on one line: with the separator ", ", "bert-base, batch 1, f32, sequence
/// 128", and of a step of training also "training by sgd".
[[nodiscard]] std::string to_text(const ModelInstance& instance, std::string_view separator);

/// Returns the subject of an instance's derived records:
/// "bert-base|1|f32|sequence=128|training=sgd".
[[nodiscard]] std::string subject_of(const ModelInstance& instance);
/// Parses what subject_of() wrote. Absent: the text is no subject.
[[nodiscard]] std::optional<ModelInstance> parse_subject(std::string_view subject);

/// Times of one mode of a model end to end, over the processes that executed it. The harness
/// overhead is subtracted.
struct ExecutionTime {
  /// Step of an executed plan with its price.
  struct PricedStep {
    std::vector<model::LayerId> layers;  ///< of the model's graph; none: reorders of the outputs
    model::LayerKey key;
    std::string variant;
    Seconds seconds{};  ///< reorders of its operands included
  };

  /// Time of a layer inside an executed model, beside that of the same variant alone.
  struct Layer {
    std::string name;
    model::LayerKey key;
    std::string variant;
    Seconds inside{};  ///< in the passes that time each step by itself
    Seconds alone{};   ///< its own row in this run: activations refreshed, weights cold
  };

  std::string mode;
  loadgen::ScenarioName scenario = loadgen::ScenarioName::kSingleStream;
  std::optional<results::SeriesName::Turn> turn = {};  ///< among other shapes; absent: it was alone
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
  std::string output_hash;              ///< of the output's bytes; empty if not computed
  std::optional<double> maximum_error;  ///< against the plain result; absent: nothing compared
  std::vector<Layer> differences;       ///< where layers take another time inside than alone
  results::Readings readings = {};      ///< of the device, over these processes
  results::Attributes attributes = {};  ///< what the backend says of how it executed the model
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

/// Returns the mode of the bound or estimate of a kind that belongs to executions in a mode: "any"
/// of `hardware` and `hardware_update`, that mode itself of `predicted`, else "plain" or "fusion".
/// Absent: none does. The bounds are of the model's own type, so they do not hold for a mode in
/// another type, and those of layers not for a mode with other layers. Parallel branches may beat
/// `library`. Throws Error{kUser} if the mode of the executions is none.
[[nodiscard]] std::optional<std::string> mode_of_bound(results::BoundKind kind,
                                                       std::string_view mode);

/// Returns whether no execution in this mode can beat a bound. The bound must be complete, and of
/// the mode that mode_of_bound() returns. Its kind must be `hardware`, `hardware_update`, or
/// `library` (with parallel branches `library_parallel`).
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

/// Returns a bound of a ModelBounds or ModelResults, complete or not. `mode`: as mode_of_bound()
/// returns it. nullptr: there is none.
template <typename Model>
[[nodiscard]] const auto* find_bound(const Model& model,
                                     results::BoundKind kind,
                                     std::string_view mode) {
  const auto found = std::find_if(model.bounds.begin(), model.bounds.end(), [&](const auto& bound) {
    return bound.kind == kind && bound.mode == mode;
  });
  return found == model.bounds.end() ? nullptr : &*found;
}
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

/// Controls of the hosts of one run, by name. Absent: that host measured none.
using HostControls = std::map<std::string, std::optional<results::Controls>>;

/// Largest difference between the products of two hosts that count as equally fast. Copies may
/// differ by twice that, as in rounds.
inline constexpr double kHostLimit = 0.02;

/// Returns why times of these hosts cannot be added up. Empty: there is one host, or the controls
/// of all agree. Pure.
[[nodiscard]] std::string host_disagreement(const std::set<std::string>& hosts,
                                            const HostControls& controls);

/// Marks the bounds of a model incomplete, and says why, if its times come from hosts that
/// disagree. `hosts` are those of its rows and executions.
void require_like_hosts(const std::set<std::string>& hosts,
                        const HostControls& controls,
                        ModelBounds& model);

/// Executions of a run, by subject_of() the model.
using ModelExecutions = std::map<std::string, std::vector<results::Execution>>;

/// Returns the fastest pace of the host in a run's rows and executions, in seconds. Absent: none
/// was measured.
[[nodiscard]] std::optional<double> fastest_pace(std::span<const results::StoredMeasurement> rows,
                                                 const ModelExecutions& executions);

/// Marks rows and executions as disturbed whose pace is slower than kSlowPace times `fastest`, in
/// seconds. A process that a neighbour slows down from its start cannot notice it; its run can.
void mark_slow_host(double fastest,
                    std::span<results::StoredMeasurement> rows,
                    ModelExecutions& executions);

}  // namespace plumb::analysis
