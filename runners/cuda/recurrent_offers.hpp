// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_offer.hpp"

namespace plumb::cuda {

/// Lists the ways of cuDNN to execute an `rnn`, `gru` or `lstm`: one for each algorithm that it
/// takes for the layer, the standard one first. Throws Unsupported with the reason if there is
/// none. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> recurrent_offers(const LayerSpec& spec,
                                                        CudnnHandle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
