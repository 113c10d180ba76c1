// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph.hpp"
#include "harness/results/measurement.hpp"

namespace plumb {

/// Time of a layer's steps, reorders included, in the machine state that the preceding steps leave.
/// Each step is timed by itself right after the step before it. Before that preceding step, what
/// earlier steps used is read again (Program::profile_in_turn). The floor is subtracted.
struct TimeInTurn {
  Seconds median{};
  Interval interval{};
};

/// Time of one layer, or of several fused into one, inside a model. Measured in separate passes, in
/// which each step is timed by itself.
struct ExecutedLayer {
  std::vector<LayerId> layers;  ///< of the model's graph, ascending; none: the outputs' reorders
  LayerKey key;
  std::string variant;
  Seconds seconds{};  ///< median of the passes, reorders not counted
  Seconds reorder{};  ///< of bringing its operands into its layouts
  std::int64_t reorders = 0;
  std::optional<TimeInTurn> in_turn;  ///< absent: the backend cannot tell, or an older store
};

/// Result of executing one whole model end to end once, in one worker process.
struct Execution {
  std::string mode;                        ///< "plain"
  std::string scenario = "single_stream";  ///< one query after the other
  Measurement
      row;  ///< outcome, samples, summary, floor, output hash, disturbance…; key: "model:NAME"
  Bytes memory;               ///< weights, inputs and everything between, in the layouts executed
  std::int64_t reorders = 0;  ///< changes of layout in each execution
  std::vector<ExecutedLayer> layers;  ///< in the order executed; none: the backend cannot tell
  /// All of it by its steps in turn: their sum, or with steps side by side the end of the last one.
  std::optional<TimeInTurn> in_turn;
};

/// Names the records that a run keeps of its executions; the subject is subject_of() the model.
inline constexpr const char* kExecutionRecord = "execution";

/// Writes an execution as the store keeps it: JSON, raw samples included.
[[nodiscard]] std::string to_json(const Execution& execution);
/// Reads what to_json wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] Execution execution_from_json(std::string_view json);

}  // namespace plumb
