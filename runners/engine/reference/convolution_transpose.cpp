// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/engine/reference/convolution_shape.hpp"
#include "runners/engine/reference/matrix_panel.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

/// Adds the products of one grid position to one group's image. `thrown` has one product for each
/// channel and kernel position, kPanelColumns apart.
void scatter(const ConvolutionShape& shape,
             std::int64_t channels,
             std::int64_t position,
             const double* thrown,
             double* image) {
  const std::int64_t volume = ConvolutionShape::volume(shape.image);
  const std::int64_t taps = ConvolutionShape::volume(shape.kernel);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t d = shape.image_position(
        0, position / (shape.grid[1] * shape.grid[2]), tap / (shape.kernel[1] * shape.kernel[2]));
    const std::int64_t h = shape.image_position(
        1, position / shape.grid[2] % shape.grid[1], tap / shape.kernel[2] % shape.kernel[1]);
    const std::int64_t w = shape.image_position(2, position % shape.grid[2], tap % shape.kernel[2]);
    if (d < 0 || d >= shape.image[0] || h < 0 || h >= shape.image[1] || w < 0 ||
        w >= shape.image[2]) {
      continue;
    }
    double* to = image + (d * shape.image[1] + h) * shape.image[2] + w;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      to[channel * volume] +=
          thrown[static_cast<std::size_t>(channel * taps + tap) * kPanelColumns];
    }
  }
}

/// Transposes one group's weights, stored as [in channels][out channels × kernel].
std::vector<double> transposed_weights(const double* stored, std::size_t depth, std::size_t rows) {
  std::vector<double> weights(rows * depth);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t channel = 0; channel < depth; ++channel) {
      weights[row * depth + channel] = stored[channel * rows + row];
    }
  }
  return weights;
}

// Computes a transposed convolution by its definition: each grid position adds its channels ×
// weights to the image.
void throw_at_image(const ConvolutionShape& shape, Operands operands, Numbers& y) {
  const std::int64_t positions = ConvolutionShape::volume(shape.grid);
  const std::int64_t in_channels = shape.grid_channels / shape.group;
  const std::int64_t out_channels = shape.image_channels / shape.group;
  const auto depth = static_cast<std::size_t>(in_channels);
  const auto rows = static_cast<std::size_t>(out_channels * ConvolutionShape::volume(shape.kernel));

  std::vector<double> panel(depth * kPanelColumns);
  std::vector<double> thrown(rows * kPanelColumns);
  constexpr auto kStep = static_cast<std::int64_t>(kPanelColumns);
  for (std::int64_t g = 0; g < shape.group; ++g) {
    const std::vector<double> weights = transposed_weights(
        operands[1].values.data() + static_cast<std::size_t>(g) * depth * rows, depth, rows);
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      const double* grid =
          operands[0].values.data() + (n * shape.grid_channels + g * in_channels) * positions;
      double* image = y.values.data() + (n * shape.image_channels + g * out_channels) *
                                            ConvolutionShape::volume(shape.image);
      for (std::int64_t first = 0; first < positions; first += kStep) {
        const std::int64_t used = std::min(kStep, positions - first);
        std::fill(panel.begin(), panel.end(), 0.0);
        for (std::int64_t channel = 0; channel < in_channels; ++channel) {
          const double* from = grid + channel * positions + first;
          std::copy(from, from + used, panel.begin() + channel * kStep);
        }
        std::fill(thrown.begin(), thrown.end(), 0.0);
        multiply_panel(
            weights.data(), rows, depth, panel.data(), thrown.data(), kPanelColumns, kPanelColumns);
        for (std::int64_t column = 0; column < used; ++column) {
          scatter(shape, out_channels, first + column, thrown.data() + column, image);
        }
      }
    }
  }
}

}  // namespace

Numbers convolution_transpose(const model::LayerSpec& spec, Operands operands) {
  Numbers y = bias_in_every_element(spec, operands);
  throw_at_image(convolution_shape(spec), operands, y);
  return y;
}

// A convolution's gradient by its data is the transposed convolution of its result's gradient.
Numbers convolution_data_gradient(const model::LayerSpec& spec, Operands operands) {
  Numbers gradient = zeros_like_output(spec);
  throw_at_image(convolution_shape(model::forward_layer(spec)), operands, gradient);
  return gradient;
}

}  // namespace plumb::engine::reference
