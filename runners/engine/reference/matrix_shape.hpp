// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runners/engine/reference/numbers.hpp"

namespace plumb::engine::reference {

/// Extents and strides (in elements) of a matrix product a[rows × depth] · b[depth × columns].
struct MatrixShape {
  std::size_t rows = 1;
  std::size_t depth = 1;
  std::size_t columns = 1;
  std::size_t a_row = 0;     ///< from one row of a to the next
  std::size_t a_depth = 0;   ///< along a row of a
  std::size_t b_depth = 0;   ///< from one row of b to the next
  std::size_t b_column = 0;  ///< along a row of b
  Dims batch;                ///< of the output, broadcast
  Dims a_batch;              ///< leading extents of a
  Dims b_batch;
};

/// Reads and checks the shapes of a `gemm` or `matmul` layer. Throws Error{kUser}.
[[nodiscard]] MatrixShape matrix_shape(const model::LayerSpec& spec);

}  // namespace plumb::engine::reference
