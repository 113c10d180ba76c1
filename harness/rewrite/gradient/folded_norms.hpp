// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Step of training whose convolutions compute the frozen batch normalisations behind them.
struct FoldedStep {
  model::Graph graph;  ///< values of the step keep their numbers; those of the folding follow
  std::vector<model::LayerId> origins;  ///< of each layer: the layer of the step that it replaces
  std::size_t folded = 0;               ///< batch normalisations, of all micro-batches
};

/// Folds frozen batch normalisations into the convolutions before them (the mode `folded_norms`).
///
/// With the factor f = scale ÷ √(variance + ε) of each channel, the convolution has the weights
/// f · W and the bias f · b + shift − mean · f. W and b are trained, so each step multiplies them
/// by f once. The gradient of the convolution's data reads f · W, and those of W and b are
/// multiplied by f.
///
/// A convolution whose weights or bias are frozen too, or whose result or weights have other
/// readers, stays as it is. Absent: nothing can be folded.
[[nodiscard]] std::optional<FoldedStep> folded_norms(const model::Graph& step);

}  // namespace plumb::rewrite
