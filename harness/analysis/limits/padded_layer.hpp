// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::analysis {

/// Returns the channels in a block of a CPU kernel's layout, by its instructions: 16 for AVX-512
/// (nChw16c), 8 for AVX and AVX2 (nChw8c). Absent: the variant's name does not say.
[[nodiscard]] std::optional<std::int64_t> channels_per_block(std::string_view variant);

/// Returns a convolution, or a product with one constant matrix, with its channels, in and out,
/// rounded up to whole blocks. It computes the same and more. The channels of a product are the
/// columns of its operand and of its result. Absent: the channels fill whole blocks, a convolution
/// has groups, or the layer is another one.
///
/// Input channels below one block stay. Kernels for images have layouts of their own for them.
[[nodiscard]] std::optional<model::LayerSpec> padded_layer(const model::LayerSpec& spec,
                                                           std::int64_t block);

}  // namespace plumb::analysis
