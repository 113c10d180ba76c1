// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/blas_handle.hpp"
#include "runners/cuda/device_offer.hpp"

namespace plumb::cuda {

/// Lists how cuBLAS' older calls (cublasGemmEx, cublasGemmStridedBatchedEx) do a product, with
/// cuBLAS' own choice of an algorithm. Throws Unsupported. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> blas_offers(const LayerSpec& spec,
                                                   const BlasHandle& handle,
                                                   const KernelStep& kernel);

}  // namespace plumb::cuda
