// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/node_view.hpp"

namespace plumb {

/// Sliding window of a convolution or pool, with every default explicit and `auto_pad` resolved.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;  ///< all begins, then all ends
};

/// Reads a node's window over the spatial extents of input 0, whose kernel is `kernel`.
[[nodiscard]] Window window_of(const NodeView& node, std::vector<std::int64_t> kernel);

/// Returns the extents behind batch and channels. Throws Unsupported below rank 3.
[[nodiscard]] std::vector<std::int64_t> spatial_dims(const TensorType& type);

/// Splits padding in total over begin and end; the odd one goes to the end, or to the begin if
/// `lower`.
void split_padding(std::vector<std::int64_t>& pads,
                   std::size_t axis,
                   std::int64_t total,
                   bool lower);

}  // namespace plumb
