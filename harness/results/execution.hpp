// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/loadgen/scenario_name.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/series/shape_turn.hpp"

namespace plumb::results {

/// Time of one layer, or of several fused into one, inside a model. Separate passes measure it, in
/// which each step is timed by itself.
struct ExecutedLayer {
  std::vector<model::LayerId> layers;  ///< of the model's graph, ascending; none: the outputs'
                                       ///< reorders
  model::LayerKey key;
  std::string variant;
  Seconds seconds{};  ///< median of the passes, reorders not counted
  Seconds reorder{};  ///< of bringing its operands into its layouts
  std::int64_t reorders = 0;
  /// Time of its steps in context: as each step finds the machine inside the model. Reorders are
  /// included. Each step is timed by itself, right after the step before it. Before that preceding
  /// step, what earlier steps used is read again (Program::profile_in_context). The harness
  /// overhead is subtracted. Absent: the backend cannot tell, or an older store.
  std::optional<measure::MeasuredTime> in_context;
};

/// Result of executing one whole model end to end, in one worker process.
struct Execution {
  std::string mode;  ///< "plain"
  loadgen::ScenarioName scenario = loadgen::ScenarioName::kSingleStream;
  std::optional<ShapeTurn> turn{};  ///< among other shapes of the model; absent: it was alone
  Measurement
      row;  ///< outcome, samples, summary, floor, output hash, disturbance…; key: "model:NAME"
  Bytes memory;               ///< weights, inputs and everything between, in the layouts executed
  std::int64_t reorders = 0;  ///< changes of layout in each execution
  std::vector<ExecutedLayer> layers;  ///< in the order executed; none: the backend cannot tell
  /// Time of the whole model by its steps in context. It is their sum, or with parallel branches
  /// the end of the last step.
  std::optional<measure::MeasuredTime> in_context;
};

/// Reading of an execution: by how many bytes the process's resident memory grew while the model
/// was prepared and executed once. Beside it, `memory` is what was planned. Absent: memory of a
/// device.
inline constexpr const char* kResidentMemory = "resident_bytes";
/// Reading of an execution: the part of that growth while its plan was made, such as descriptors
/// and generated code of the library. It is not in `memory`. Modes prepared earlier in the process
/// leave some of it to later ones.
inline constexpr const char* kPreparationMemory = "preparation_bytes";

/// Kind of the records that a run stores of its executions. The subject is subject_of() the model.
inline constexpr const char* kExecutionRecord = "execution";
/// Kind of the records of a model's executions among its other shapes, each of one `turn`. The
/// subject is that of the shape.
inline constexpr const char* kAlternationRecord = "alternation";

/// Writes an execution as JSON for the store, raw samples included.
[[nodiscard]] std::string to_json(const Execution& execution);
/// Reads what to_json wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] Execution execution_from_json(std::string_view json);

}  // namespace plumb::results
