// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/own_step.hpp"

namespace plumb::cuda {

/// A layer split into the part that its library executes and the steps that are left.
struct SplitLayer {
  LayerSpec alone;              ///< without bias and fused steps
  std::vector<OwnStep> behind;  ///< in place on the result
};

/// Splits a convolution or product with bias or fused steps, or with a bias gradient beside it;
/// buffers are the layer's operands, then its results. Throws Unsupported if an operand is missing.
[[nodiscard]] SplitLayer split_layer(const LayerSpec& spec);

}  // namespace plumb::cuda
