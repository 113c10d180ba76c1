// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace plumb::cuda {

using Dimensions = std::vector<std::int64_t>;

/// Place of the channels of activations and weights: before the spatial axes, or last.
enum class TensorLayout { kChannelsFirst, kChannelsLast };
/// Returns "NCHW" or "NHWC", also for other than two spatial axes.
[[nodiscard]] std::string_view to_text(TensorLayout layout);

/// Returns the strides of a dense tensor, in elements. Axis 1 has the channels.
[[nodiscard]] Dimensions compute_strides(const Dimensions& dimensions, TensorLayout layout);

/// Returns whether two layouts store the elements in the same order.
[[nodiscard]] bool same_order(const Dimensions& dimensions, TensorLayout a, TensorLayout b);

}  // namespace plumb::cuda
