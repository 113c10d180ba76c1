// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/lt_product.hpp"

namespace plumb::cuda {

/// Lists what cuBLASLt's heuristic offers for a product, best first, as far as it keeps the layer's
/// promise of precision. Throws Unsupported if there is nothing. The handle must outlive the
/// offers. `kernel` makes the steps of ours before and behind it (GemmProblem).
[[nodiscard]] std::vector<DeviceOffer> gemm_offers(const LayerSpec& spec,
                                                   const CublasHandle& handle,
                                                   const KernelStep& kernel);

}  // namespace plumb::cuda
