// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/row_parting.hpp"

#include <algorithm>

namespace plumb::cuda {

RowParting::RowParting(const Dimensions& extents,
                       const std::vector<Dimensions>& strides,
                       const std::vector<bool>& in_line)
    : row_strides_(strides.size()), line_strides_(strides.size()) {
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    (in_line[axis] ? line_extents_ : row_extents_).push_back(extents[axis]);
    for (std::size_t operand = 0; operand < strides.size(); ++operand) {
      (in_line[axis] ? line_strides_ : row_strides_)[operand].push_back(strides[operand][axis]);
    }
  }
}

kernels::RowShape RowParting::shape() const {
  kernels::RowShape shape{};
  shape.rows = joined_space(row_extents_, row_strides_);
  shape.line = joined_space(line_extents_, line_strides_);
  return shape;
}

std::vector<bool> from_axis(std::size_t rank, std::size_t first, std::size_t end) {
  std::vector<bool> in_line(rank, false);
  for (std::size_t axis = first; axis < std::min(end, rank); ++axis) {
    in_line[axis] = true;
  }
  return in_line;
}

}  // namespace plumb::cuda
