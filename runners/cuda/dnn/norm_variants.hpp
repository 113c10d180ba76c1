// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/graph_variants.hpp"

namespace plumb::cuda {

/// Lists the forms in which cuDNN executes a `layer_norm`, its gradient, or the gradient of a
/// `batch_norm`. The gradient of a `batch_norm` has both layouts. Before a gradient, a built-in
/// kernel makes 1 ÷ √(variance + ε). A `batch_norm` itself has no form: of the ways to execute it,
/// cuDNN's graph has only training. Throws Unsupported. Needs no library.
[[nodiscard]] std::vector<GraphForm> norm_forms(const model::LayerSpec& spec);

/// Lists cuDNN's engines for a layer normalisation, its gradient, or that of a batch normalisation
/// (norm_forms()). Empty where cuDNN has no form for the layer, or no engine. Only built-in kernels
/// remain then. The handle must outlive the builders.
[[nodiscard]] std::vector<VariantBuilder> norm_variants(const model::LayerSpec& spec,
                                                        CudnnHandle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
