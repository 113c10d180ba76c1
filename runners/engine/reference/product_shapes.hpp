// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runners/engine/reference/numbers.hpp"

namespace plumb::engine::reference {

/// Extents of a convolution or transposed convolution, always with three spatial axes.
///
/// The axes are depth, height and width; missing ones are 1. "image" is the larger side in the
/// usual case: the input of a convolution, the output of a transposed one. "grid" is the other
/// side. The image position of grid position g and kernel position k is g·stride − pad +
/// k·dilation.
struct ConvolutionShape {
  using Spatial = std::array<std::int64_t, 3>;

  std::int64_t batch = 1;
  std::int64_t group = 1;
  std::int64_t image_channels = 1;  ///< of all groups
  std::int64_t grid_channels = 1;   ///< of all groups
  Spatial image{1, 1, 1};
  Spatial grid{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial strides{1, 1, 1};
  Spatial dilations{1, 1, 1};
  Spatial pads{0, 0, 0};  ///< at the beginning

  [[nodiscard]] static std::int64_t volume(const Spatial& s) { return s[0] * s[1] * s[2]; }
  /// Returns the image position along one axis. It may lie outside the image.
  [[nodiscard]] std::int64_t image_position(std::size_t axis,
                                            std::int64_t grid_position,
                                            std::int64_t kernel_position) const {
    return grid_position * strides[axis] - pads[axis] + kernel_position * dilations[axis];
  }
};

/// Reads and checks the shapes of a `conv` or `conv_transpose` layer. All indices made from them
/// are then in range. Throws Error{kUser}.
[[nodiscard]] ConvolutionShape convolution_shape(const model::LayerSpec& spec);

/// Makes the layer's output with its channel's bias in every element, or 0 without a bias.
[[nodiscard]] Numbers bias_in_every_element(const model::LayerSpec& spec, Operands operands);

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
