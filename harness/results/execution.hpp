// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::results {

/// Result of executing one whole model end to end, in one worker process.
struct Execution {
  /// Time of one layer, or of several fused into one, inside a model. Separate passes measure it,
  /// in which each step is timed by itself.
  struct Layer {
    std::vector<model::LayerId> layers;  ///< of the model's graph, ascending; none: the outputs'
                                         ///< reorders
    model::LayerKey key;
    std::string variant;
    Seconds seconds{};  ///< median of the passes, reorders not counted
    Seconds reorder{};  ///< of bringing its operands into its layouts
    std::int64_t reorders = 0;
    /// Time of its steps in context: as each step finds the machine inside the model. Reorders are
    /// included. Each step is timed by itself, right after the step before it
    /// (Program::profile_in_context). The harness overhead is subtracted. Absent: the backend
    /// cannot tell, or an older store.
    std::optional<measure::MeasuredTime> in_context;
  };

  std::string mode;  ///< "plain"
  loadgen::ScenarioName scenario = loadgen::ScenarioName::kSingleStream;
  std::optional<SeriesName::Turn>
      turn{};  ///< among other shapes of the model; absent: it was alone
  Measurement
      row;  ///< outcome, samples, summary, floor, output hash, disturbance…; key: "model:NAME"
  Bytes memory;               ///< weights, inputs and everything between, in the layouts executed
  std::int64_t reorders = 0;  ///< changes of layout in each execution
  std::vector<Layer> layers;  ///< in the order executed; none: the backend cannot tell
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

/// Mode of executing a whole model: the options that are on (docs/reference/execution.md). Without
/// options it is "plain": each layer as the library executes it by its own choice.
struct ExecutionMode {
  bool best_variant = false;        ///< by the measured variants that are fastest together
  bool bf16 = false;                ///< tensors in bf16, accumulation in f32
  bool captured = false;            ///< a device's launches as one captured graph
  bool channels_last = false;       ///< images with their channels last wherever a layer can
  bool checkpointing = false;       ///< a step of training that recomputes what it does not keep
  bool conv_relu_backward = false;  ///< convolutions' gradients of data with the ReLU's behind them
  bool eager = false;               ///< a device's launches one after the other
  bool f16 = false;                 ///< tensors in f16, accumulation in f32
  bool folded_norms = false;        ///< frozen batch normalisations of a step inside convolutions
  bool fused_optimizer = false;     ///< updates of many weights as one layer
  bool fusion = false;              ///< layers fused, BatchNorm folded by harness/rewrite's table
  bool gemm_bias = false;           ///< products with their bias, and both gradients as one layer
  bool gemm_gelu = false;           ///< GELU as one layer, and its gradient behind a product
  bool gemm_relu = false;           ///< products with their ReLU, and its gradient behind a product
  bool int8 = false;                ///< products with constant weights in 8-bit integers
  bool micro_batch = false;         ///< batches of convolutions divided where that is faster
  bool parallel_branches = false;   ///< branches side by side, the threads split between them
  bool streams = false;             ///< a captured graph with branches on streams of their own
  bool tf32 = false;                ///< products of f32 with their factors rounded to TF32

  auto operator<=>(const ExecutionMode&) const = default;

  /// Returns the type in which the mode executes an f32 model, by its name in suites. Empty: f32.
  [[nodiscard]] std::string_view other_type() const;
  /// Returns the one family of fusions that the mode switches on, by its name in harness/rewrite.
  /// Empty: it switches on all or none.
  [[nodiscard]] std::string_view fusion_family() const;
  /// Returns whether layers are fused.
  [[nodiscard]] bool fuses() const { return fusion || !fusion_family().empty(); }
  /// Returns whether the model's own layers are executed, single or as the mode fusion joins them.
  /// Bounds from their times hold for no other mode.
  [[nodiscard]] bool has_own_layers() const {
    return other_type().empty() && !folded_norms && fusion_family().empty();
  }
  /// Returns whether branches of the model may run side by side.
  [[nodiscard]] bool has_branches() const { return parallel_branches || streams; }
};

/// Writes "plain", or the options joined by "+": "best_variant+fusion".
[[nodiscard]] std::string to_text(const ExecutionMode& mode);

/// Lists the words of modes for a message: "best_variant, bf16, … and parallel_branches".
[[nodiscard]] std::string list_mode_words();

/// Reads what to_text writes, in any order. Throws Error{kUser} that lists the known words. Also
/// throws for best_variant with channels_last, for two of best_variant, checkpointing and
/// folded_norms, for two of fusion and its families, for two types, for two of captured, eager,
/// streams and parallel_branches, and for micro_batch with another word.
[[nodiscard]] ExecutionMode execution_mode_from(std::string_view text);

/// Returns the modes that a run executes by default, as far as it has what they need: one for each
/// what-if that needs no device and no further threads, and all together.
[[nodiscard]] std::vector<ExecutionMode> default_modes();

}  // namespace plumb::results
