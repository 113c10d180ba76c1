// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/recurrent_abi.hpp"

namespace plumb::cuda {

/// Names cuDNN's algorithms as variants do.
inline constexpr std::array kRecurrentAlgorithms =
    std::to_array<std::pair<std::string_view, abi::RecurrentAlgorithm>>(
        {{"STANDARD", abi::RecurrentAlgorithm::kStandard},
         {"PERSIST_STATIC", abi::RecurrentAlgorithm::kPersistStatic},
         {"PERSIST_DYNAMIC", abi::RecurrentAlgorithm::kPersistDynamic}});

/// Lists the ways of cuDNN to execute an `rnn`, `gru` or `lstm`: one for each algorithm that it
/// takes for the layer, the standard one first. Throws Unsupported with the reason if there is
/// none. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> recurrent_offers(const LayerSpec& spec,
                                                        CudnnHandle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
