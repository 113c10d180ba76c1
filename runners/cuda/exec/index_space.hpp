// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/key/tensor.hpp"
#include "runners/cuda/kernels/shapes.hpp"
#include "runners/engine/plan/execution_plan.hpp"

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

using engine::Unsupported;

/// Makes an index space with the axes as they are. `strides` has those of each operand, the
/// output's first. Throws Unsupported for too many axes or operands, and for a tensor without
/// elements.
[[nodiscard]] kernels::Space plain_space(const Dimensions& extents,
                                         const std::vector<Dimensions>& strides);

/// Makes an index space with the axes in the output's memory order. Axes are joined that all
/// operands step through as if they were one. That takes fewer divisions, and neighbouring threads
/// write neighbouring elements. Throws as plain_space() does.
[[nodiscard]] kernels::Space joined_space(const Dimensions& extents,
                                          const std::vector<Dimensions>& strides);

/// Returns an operand's strides along a result's axes: 0 where it is broadcast (as numpy does).
/// Throws Unsupported if it does not fit.
[[nodiscard]] Dimensions broadcast_strides(const Dimensions& operand,
                                           const Dimensions& operand_strides,
                                           const Dimensions& result);

/// Returns the name of an element type in the kernels: "float", "Half", "Index". Throws
/// Unsupported.
[[nodiscard]] std::string element_name(model::DataType type);
/// Returns the name of the type in which an element type is computed: "float", "double" or "Index".
/// Throws Unsupported.
[[nodiscard]] std::string compute_name(model::DataType type);
/// Returns the name of a type with as many bytes, for kernels that only move elements. Throws
/// Unsupported.
[[nodiscard]] std::string moved_name(model::DataType type);

}  // namespace plumb::cuda
