// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_offer.hpp"

namespace plumb::cuda {

/// Lists the ways of cuDNN to execute a convolution, with operands in NCHW and in NHWC, that keep
/// the layer's promise of precision. First: what heuristic A ranks first for NCHW, as the model has
/// it. Throws Unsupported if there is none. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> convolution_offers(const LayerSpec& spec,
                                                          CudnnHandle& handle);

}  // namespace plumb::cuda
