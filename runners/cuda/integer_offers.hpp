// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "runners/cuda/device_offer.hpp"

namespace plumb::cuda {

/// Stand in a variant behind what the library's own is called.
inline constexpr std::string_view kShiftedOperands = ";operands=shifted";
inline constexpr std::string_view kScalesApart = ";scales=apart";

/// Lists the ways of a library to do a `conv_integer` or `matmul_integer`: those of the product of
/// s8 with s8 into s32 that it is made of, with kernels of ours before and behind. `library` lists
/// those, or throws Unsupported. Throws Unsupported.
[[nodiscard]] std::vector<DeviceOffer> integer_offers(
    const LayerSpec& spec,
    const std::function<std::vector<DeviceOffer>(const LayerSpec&)>& library,
    const KernelStep& kernel);

}  // namespace plumb::cuda
