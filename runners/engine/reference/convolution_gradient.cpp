// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/convolution_shape.hpp"
#include "runners/engine/reference/matrix_panel.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

/// Visits all grid positions from which a tap of the kernel reads inside the image. Calls
/// `visit(position in the grid, position in the image)`, both within one channel.
template <typename Visit>
void for_each_meeting(const ConvolutionShape& shape, std::int64_t tap, Visit&& visit) {
  const ConvolutionShape::Spatial at{tap / (shape.kernel[1] * shape.kernel[2]),
                                     tap / shape.kernel[2] % shape.kernel[1],
                                     tap % shape.kernel[2]};
  for (std::int64_t d = 0; d < shape.grid[0]; ++d) {
    const std::int64_t z = shape.image_position(0, d, at[0]);
    for (std::int64_t h = 0; h < shape.grid[1]; ++h) {
      const std::int64_t y = shape.image_position(1, h, at[1]);
      if (z < 0 || z >= shape.image[0] || y < 0 || y >= shape.image[1]) {
        continue;
      }
      const std::int64_t grid = (d * shape.grid[1] + h) * shape.grid[2];
      const std::int64_t image = (z * shape.image[1] + y) * shape.image[2];
      for (std::int64_t w = 0; w < shape.grid[2]; ++w) {
        const std::int64_t x = shape.image_position(2, w, at[2]);
        if (x >= 0 && x < shape.image[2]) {
          visit(grid + w, image + x);
        }
      }
    }
  }
}

/// Adds the gradient of one group's weights over one entry of the batch. It is the grid's gradient
/// times what each weight read of the image (im2col), panel by panel.
void add_weights(const ConvolutionShape& shape,
                 const double* grid,
                 const double* image,
                 double* weights) {
  const std::int64_t taps = ConvolutionShape::volume(shape.kernel);
  const std::int64_t positions = ConvolutionShape::volume(shape.grid);
  const std::int64_t volume = ConvolutionShape::volume(shape.image);
  const std::int64_t columns = shape.image_channels / shape.group * taps;
  constexpr auto kStep = static_cast<std::int64_t>(kPanelColumns);
  std::vector<double> panel(static_cast<std::size_t>(positions) * kPanelColumns);
  for (std::int64_t first = 0; first < columns; first += kStep) {
    std::fill(panel.begin(), panel.end(), 0.0);
    const std::int64_t used = std::min(kStep, columns - first);
    for (std::int64_t column = 0; column < used; ++column) {
      const double* const from = image + (first + column) / taps * volume;
      for_each_meeting(
          shape, (first + column) % taps, [&](std::int64_t position, std::int64_t seen) {
            panel[static_cast<std::size_t>(position * kStep + column)] = from[seen];
          });
    }
    multiply_panel(grid,
                   static_cast<std::size_t>(shape.grid_channels / shape.group),
                   static_cast<std::size_t>(positions),
                   panel.data(),
                   weights + first,
                   static_cast<std::size_t>(columns),
                   static_cast<std::size_t>(used));
  }
}

Numbers bias_gradient(const model::LayerSpec& spec,
                      const ConvolutionShape& shape,
                      const Numbers& grid) {
  Numbers bias = zeros_like_output(spec, 1);
  const auto positions = static_cast<std::size_t>(ConvolutionShape::volume(shape.grid));
  for (std::size_t i = 0; i < grid.values.size(); ++i) {
    bias.values.at(i / positions % bias.values.size()) += grid.values[i];
  }
  return bias;
}

}  // namespace

std::vector<Numbers> convolution_weights_gradient(const model::LayerSpec& spec, Operands operands) {
  const ConvolutionShape shape = convolution_shape(model::forward_layer(spec));
  const std::int64_t positions = ConvolutionShape::volume(shape.grid);
  const std::int64_t volume = ConvolutionShape::volume(shape.image);
  const std::int64_t out_channels = shape.grid_channels / shape.group;
  const std::int64_t in_channels = shape.image_channels / shape.group;
  const std::int64_t columns = in_channels * ConvolutionShape::volume(shape.kernel);
  std::vector<Numbers> results{zeros_like_output(spec)};
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t g = 0; g < shape.group; ++g) {
      add_weights(
          shape,
          operands[0].values.data() + (n * shape.grid_channels + g * out_channels) * positions,
          operands[1].values.data() + (n * shape.image_channels + g * in_channels) * volume,
          results[0].values.data() + g * out_channels * columns);
    }
  }
  if (spec.outputs.size() > 1) {
    results.push_back(bias_gradient(spec, shape, operands[0]));
  }
  return results;
}

std::vector<double> convolution_weights_elements(const model::LayerSpec& spec,
                                                 std::span<const model::Tensor> operands,
                                                 std::size_t output,
                                                 std::span<const std::size_t> elements) {
  const ConvolutionShape shape = convolution_shape(model::forward_layer(spec));
  const std::int64_t positions = ConvolutionShape::volume(shape.grid);
  const std::int64_t volume = ConvolutionShape::volume(shape.image);
  const std::int64_t taps = ConvolutionShape::volume(shape.kernel);
  const std::int64_t in_channels = shape.image_channels / shape.group;
  const std::int64_t out_channels = shape.grid_channels / shape.group;
  std::vector<double> results(elements.size(), 0.0);
  std::vector<double> grid(static_cast<std::size_t>(shape.grid_channels * positions));
  std::vector<double> image(static_cast<std::size_t>(shape.image_channels * volume));
  const auto read = [](const model::Tensor& from,
                       std::int64_t entry,
                       std::vector<double>& numbers) {
    const ElementReader reader = reader_of(from.type.dtype);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = reader(from.data.data(), static_cast<std::size_t>(entry) * numbers.size() + i);
    }
  };
  for (std::int64_t n = 0; n < shape.batch; ++n) {  // one entry at a time: doubles are large
    read(operands[0], n, grid);
    read(operands[1], n, image);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto element = static_cast<std::int64_t>(elements[i]);
      const std::int64_t channel = output == 0 ? element / taps / in_channels : element;
      const double* const row = grid.data() + channel * positions;
      double total = 0.0;
      if (output == 0) {
        const std::int64_t seen =
            channel / out_channels * in_channels + element / taps % in_channels;
        const double* const from = image.data() + seen * volume;
        for_each_meeting(shape, element % taps, [&](std::int64_t position, std::int64_t place) {
          total += row[position] * from[place];
        });
      } else {
        for (std::int64_t position = 0; position < positions; ++position) {
          total += row[position];
        }
      }
      results[i] += total;
    }
  }
  return results;
}

}  // namespace plumb::engine::reference
