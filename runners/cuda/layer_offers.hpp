// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runners/cuda/blas_handle.hpp"
#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/kernel_library.hpp"
#include "runners/cuda/lt_product.hpp"

namespace plumb::cuda {

/// Libraries and kernels that execute layers. All must outlive the offers.
struct OfferSources {
  CudnnHandle& cudnn;
  const CublasHandle* products = nullptr;      ///< null: there is no cuBLASLt
  std::string no_products;                     ///< why not
  const BlasHandle* plain_products = nullptr;  ///< null: there is no libcublas
  KernelLibrary& kernels;
};

/// Makes the steps of our kernels.
[[nodiscard]] KernelStep kernel_step(KernelLibrary& kernels);

/// Lists the ways to execute a layer, the first choice first: of a library where one does it, then
/// our own kernels, then cuDNN's and cuBLAS' older calls. Throws Unsupported, saying why there is
/// none.
[[nodiscard]] std::vector<DeviceOffer> layer_offers(const LayerSpec& spec,
                                                    const OfferSources& sources);

}  // namespace plumb::cuda
