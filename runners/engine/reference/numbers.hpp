// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::engine::reference {

using Dims = std::vector<std::int64_t>;

/// Dense tensor in float64; empty for an absent operand.
struct Numbers {
  /// Mapping from the elements of `to` to those of a tensor that numpy's rule broadcasts to it.
  class Broadcasting {
   public:
    /// Prepares the mapping. Throws Error{kUser} unless `from` broadcasts to `to`.
    Broadcasting(const model::LayerSpec& spec, const Dims& from, const Dims& to);

    [[nodiscard]] std::size_t operator()(std::size_t element) const {
      if (same_) {
        return element;
      }
      std::size_t rest = element;
      std::size_t found = 0;
      for (std::size_t axis = extents_.size(); axis-- > 0;) {
        found += (rest % extents_[axis]) * strides_[axis];
        rest /= extents_[axis];
      }
      return found;
    }

   private:
    bool same_;
    std::vector<std::size_t> extents_;
    std::vector<std::size_t> strides_;  // 0 where the extent is repeated
  };

  Dims dims;
  std::vector<double> values;
};

/// Operands of a layer in the key's order, with sizes checked against the spec.
using Operands = std::span<const Numbers>;

/// Throws Error{kUser} with the layer's operator and `what` unless the condition holds.
void require(bool condition, const model::LayerSpec& spec, std::string_view what);

/// Makes zeros in the shape of the layer's output `index`.
[[nodiscard]] Numbers zeros_like_output(const model::LayerSpec& spec, std::size_t index = 0);

/// Reads the operands of a layer as numbers. `operands` may have more than the layer.
[[nodiscard]] std::vector<Numbers> numbers_of_operands(const model::LayerSpec& spec,
                                                       std::span<const model::Tensor> operands);

/// Returns the product of the extents [begin, end).
[[nodiscard]] std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end);
[[nodiscard]] std::int64_t product(const Dims& dims);

/// Returns the distance in elements between neighbours along each axis of a dense tensor.
[[nodiscard]] Dims dense_strides(const Dims& dims);

}  // namespace plumb::engine::reference

namespace plumb::engine {

/// One output element, computed apart from all others.
struct SampledElement {
  std::size_t output = 0;   ///< index into LayerSpec::outputs
  std::size_t element = 0;  ///< index into the dense output
  double value = 0.0;       ///< float64, not rounded to the output's type
};

}  // namespace plumb::engine

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
