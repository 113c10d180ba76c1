// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

}  // namespace plumb::engine::reference
