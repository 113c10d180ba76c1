// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/own_step.hpp"

namespace plumb::cuda {

/// Is a layer whose library does not do all of it at once: what it does, and what is left.
struct SplitLayer {
  LayerSpec alone;              ///< without bias and fused steps
  std::vector<OwnStep> behind;  ///< in place on the result
};

/// Splits a convolution or product with bias or fused steps, or with a bias gradient beside it;
/// buffers are the layer's operands, then its results. Throws Unsupported if an operand is missing.
[[nodiscard]] SplitLayer split_layer(const LayerSpec& spec);

}  // namespace plumb::cuda
