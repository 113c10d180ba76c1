// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/graph_variants.hpp"

namespace plumb::cuda {

/// Lists cuDNN's engines for a layer normalisation, its gradient, or that of a batch normalisation
/// (norm_forms()). Empty where cuDNN has no form for the layer, or no engine. Only built-in kernels
/// remain then. The handle must outlive the builders.
[[nodiscard]] std::vector<VariantBuilder> norm_variants(const model::LayerSpec& spec,
                                                        CudnnHandle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
