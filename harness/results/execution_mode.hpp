// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::results {

/// Mode of executing a whole model: the options that are on (docs/reference/execution.md). Without
/// options it is "plain": each layer as the library executes it by its own choice.
struct ExecutionMode {
  bool best_variant = false;       ///< by the measured variants that are fastest together
  bool bf16 = false;               ///< tensors in bf16, accumulation in f32
  bool captured = false;           ///< a device's launches as one captured graph
  bool channels_last = false;      ///< images with their channels last wherever a layer can
  bool checkpointing = false;      ///< a step of training that recomputes what it does not keep
  bool eager = false;              ///< a device's launches one after the other
  bool f16 = false;                ///< tensors in f16, accumulation in f32
  bool folded_norms = false;       ///< frozen batch normalisations of a step inside convolutions
  bool fusion = false;             ///< layers fused and BatchNorm folded by harness/rewrite's table
  bool int8 = false;               ///< products with constant weights in 8-bit integers
  bool micro_batch = false;        ///< batches of convolutions divided where that is faster
  bool parallel_branches = false;  ///< branches side by side, the threads split between them
  bool streams = false;            ///< a captured graph with branches on streams of their own
  bool tf32 = false;               ///< products of f32 with their factors rounded to TF32

  auto operator<=>(const ExecutionMode&) const = default;

  /// Returns the type in which the mode executes an f32 model, by its name in suites. Empty: f32.
  [[nodiscard]] std::string_view other_type() const;
  /// Returns whether the model's own layers are executed, single or fused. Bounds from their times
  /// hold for no other mode.
  [[nodiscard]] bool has_own_layers() const { return other_type().empty() && !folded_norms; }
  /// Returns whether branches of the model may run side by side.
  [[nodiscard]] bool has_branches() const { return parallel_branches || streams; }
};

/// Writes "plain", or the options joined by "+": "best_variant+fusion".
[[nodiscard]] std::string to_text(const ExecutionMode& mode);

/// Lists the words of modes for a message: "best_variant, bf16, … and parallel_branches".
[[nodiscard]] std::string list_mode_words();

/// Reads what to_text writes, in any order. Throws Error{kUser} that lists the known words. Also
/// throws for best_variant with channels_last, for two of best_variant, checkpointing and
/// folded_norms, for two types, for two of captured, eager, streams and parallel_branches, and for
/// micro_batch with another word.
[[nodiscard]] ExecutionMode execution_mode_from(std::string_view text);

/// Returns the modes that a run executes by default, as far as it has what they need: one for each
/// what-if that needs no device and no further threads, and all together.
[[nodiscard]] std::vector<ExecutionMode> default_modes();

}  // namespace plumb::results
