// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Sliding window of a convolution or pool, with every default explicit and `auto_pad` resolved.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;  ///< all begins, then all ends
};

/// Reads the window of a node over the spatial extents of input 0, with kernel `kernel`.
[[nodiscard]] Window read_window(const NodeView& node, std::vector<std::int64_t> kernel);

/// Returns the extents behind batch and channels. Throws Unsupported below rank 3.
[[nodiscard]] std::vector<std::int64_t> spatial_dims(const TensorType& type);

/// Splits the total padding of an axis into begin and end. An odd element goes to the end, or to
/// the begin if `lower`.
void split_padding(std::vector<std::int64_t>& pads,
                   std::size_t axis,
                   std::int64_t total,
                   bool lower);

}  // namespace plumb::model
