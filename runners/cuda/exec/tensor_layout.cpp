// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/tensor_layout.hpp"

#include <algorithm>
#include <cstddef>

namespace plumb::cuda {

std::string_view to_text(TensorLayout layout) {
  return layout == TensorLayout::kChannelsFirst ? "NCHW" : "NHWC";
}

Dimensions compute_strides(const Dimensions& dimensions, TensorLayout layout) {
  Dimensions strides(dimensions.size());
  std::int64_t next = 1;
  const auto lay = [&](std::size_t axis) {
    strides[axis] = next;
    next *= std::max<std::int64_t>(dimensions[axis], 1);
  };
  const bool channels_last = layout == TensorLayout::kChannelsLast && dimensions.size() > 1;
  if (channels_last) {
    lay(1);
  }
  for (std::size_t axis = dimensions.size(); axis-- > 0;) {
    if (axis != 1 || !channels_last) {
      lay(axis);
    }
  }
  return strides;
}

bool same_order(const Dimensions& dimensions, TensorLayout a, TensorLayout b) {
  const Dimensions one = compute_strides(dimensions, a);
  const Dimensions other = compute_strides(dimensions, b);
  for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
    if (dimensions[axis] > 1 && one[axis] != other[axis]) {
      return false;
    }
  }
  return true;
}

}  // namespace plumb::cuda
