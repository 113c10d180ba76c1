// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/cuda/dnn/cudnn_handle.hpp"
#include "runners/cuda/dnn/recurrent_abi.hpp"
#include "runners/cuda/exec/variant_builder.hpp"

namespace plumb::cuda {

/// cuDNN's algorithms, with their names in variants.
inline constexpr std::array kRecurrentAlgorithms =
    std::to_array<std::pair<std::string_view, abi::RecurrentAlgorithm>>(
        {{"STANDARD", abi::RecurrentAlgorithm::kStandard},
         {"PERSIST_STATIC", abi::RecurrentAlgorithm::kPersistStatic},
         {"PERSIST_DYNAMIC", abi::RecurrentAlgorithm::kPersistDynamic}});

/// Lists cuDNN's variants of an `rnn`, `gru` or `lstm`, the standard algorithm first. There is one
/// for each algorithm that cuDNN takes for the layer. Throws Unsupported with the reason if there
/// is none. The handle must outlive the builders.
[[nodiscard]] std::vector<VariantBuilder> recurrent_variants(const model::LayerSpec& spec,
                                                             CudnnHandle& handle,
                                                             const KernelStep& kernel);

}  // namespace plumb::cuda
