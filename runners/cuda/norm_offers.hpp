// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/graph_offers.hpp"

namespace plumb::cuda {

/// Lists cuDNN's engines for a layer normalisation, and for the gradients of it and of a batch
/// normalisation (norm_forms()). Empty where cuDNN is not asked, or has none: kernels of ours do
/// it. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> norm_offers(const LayerSpec& spec,
                                                   CudnnHandle& handle,
                                                   const KernelStep& kernel);

}  // namespace plumb::cuda
