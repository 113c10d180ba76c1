// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_offer.hpp"

namespace plumb::cuda {

/// Lists the ways of cuDNN's older calls, one for each kind of layer, to execute a layer: what
/// Benanza (Li et al. 2020, §III-B) measured; of a convolution every algorithm that it has for the
/// layer. Empty where there is none. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> legacy_offers(const LayerSpec& spec,
                                                     CudnnHandle& handle,
                                                     const KernelStep& kernel);

}  // namespace plumb::cuda
