// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/graph_offers.hpp"

namespace plumb::cuda {

/// Lists the forms in which cuDNN is asked for a `layer_norm`, and for the gradients of it and of
/// a `batch_norm` (those in both layouts; a kernel of ours makes 1 ÷ √(variance + ε) before). A
/// `batch_norm` itself is none: of the ways to ask for it cuDNN's graph has only training. Throws
/// Unsupported. Needs no library.
[[nodiscard]] std::vector<GraphForm> norm_forms(const LayerSpec& spec);

}  // namespace plumb::cuda
