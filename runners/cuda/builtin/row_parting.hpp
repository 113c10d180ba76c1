// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

/// Partition of the axes of operands into those that count rows and those that make up one.
class RowParting {
 public:
  /// Takes the strides of each operand along all axes. `in_line` says which axes make up a row.
  RowParting(const Dimensions& extents,
             const std::vector<Dimensions>& strides,
             const std::vector<bool>& in_line);

  [[nodiscard]] kernels::RowShape shape() const;

 private:
  Dimensions row_extents_;
  Dimensions line_extents_;
  std::vector<Dimensions> row_strides_;
  std::vector<Dimensions> line_strides_;
};

/// Returns a mask in which the axes from `first` up to `end` make up a row.
[[nodiscard]] std::vector<bool> from_axis(std::size_t rank, std::size_t first, std::size_t end);

}  // namespace plumb::cuda
