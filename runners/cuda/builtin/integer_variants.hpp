// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Returns the part of a `conv_integer` or `matmul_integer` that a library multiplies. That is a
/// product of s8 with s8 into s32, without zero points, scales or fused steps. u8 become s8, 128
/// less. Around an image that is shifted lies its zero point instead of padding. Throws Unsupported
/// for weights of u8 or with a zero point.
[[nodiscard]] model::LayerSpec integer_product_of(const model::LayerSpec& spec);

/// Parts of a variant's name, after the name of the library's own variant.
inline constexpr std::string_view kShiftedOperands = ";operands=shifted";
inline constexpr std::string_view kScalesApart = ";scales=apart";

/// Lists a library's variants of a `conv_integer` or `matmul_integer`. They are those of the
/// product of s8 with s8 into s32 in it, with built-in kernels before and after. `library` lists
/// the variants of that product, or throws Unsupported. Throws Unsupported.
[[nodiscard]] std::vector<VariantBuilder> integer_variants(
    const model::LayerSpec& spec,
    const std::function<std::vector<VariantBuilder>(const model::LayerSpec&)>& library,
    const KernelStep& kernel);

}  // namespace plumb::cuda
