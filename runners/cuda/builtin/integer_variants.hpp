// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_launch.hpp"

namespace plumb::cuda {

/// Product of 8-bit integers as a library computes it, and built-in kernels before and after it.
/// The product is of s8 by s8 into s32. Buffers are numbered: the layer's operands, its results,
/// then what these kernels and the product make. A value that needs no library.
struct IntegerForm {
  std::array<std::size_t, 2> factors{};  ///< buffers that the product reads
  std::size_t sums = 0;                  ///< buffer of s32 that it writes; may be the result's
  std::vector<ScratchTensor> made;
  std::vector<KernelLaunch> once;    ///< of constant operands alone
  std::vector<KernelLaunch> before;  ///< in the timed part
  std::vector<KernelLaunch> behind;
  std::vector<TensorLayout> inputs;  ///< layout of each of the layer's operands
};

/// Returns the part of a `conv_integer` or `matmul_integer` that a library multiplies. That is a
/// product of s8 with s8 into s32, without zero points, scales or fused steps. u8 become s8, 128
/// less. Around an image that is shifted lies its zero point instead of padding. Throws Unsupported
/// for weights of u8 or with a zero point.
[[nodiscard]] model::LayerSpec integer_product_of(const model::LayerSpec& spec);

/// Returns the form whose product takes operands and leaves its result in a layout. Throws
/// Unsupported.
[[nodiscard]] IntegerForm integer_form(const model::LayerSpec& spec, TensorLayout layout);

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
