// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "harness/model/key/training_layers.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/numbers.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

/// Panel (im2col) of what kPanelColumns grid positions read from one group's image.
class ImagePanel {
 public:
  explicit ImagePanel(const ConvolutionShape& shape) : shape_(shape) {}

  /// Fills `panel` for the grid positions from `first` on. Columns beyond the grid are 0.
  void fill(const double* image, std::int64_t channels, std::int64_t first, double* panel) {
    const std::int64_t positions = ConvolutionShape::volume(shape_.grid);
    for (std::size_t column = 0; column < kPanelColumns; ++column) {
      const std::int64_t position = first + static_cast<std::int64_t>(column);
      used_[column] = position < positions;
      origin_[column] = {shape_.image_position(0, position / (shape_.grid[1] * shape_.grid[2]), 0),
                         shape_.image_position(1, position / shape_.grid[2] % shape_.grid[1], 0),
                         shape_.image_position(2, position % shape_.grid[2], 0)};
    }
    fill_offsets();
    const std::int64_t volume = ConvolutionShape::volume(shape_.image);
    double* to = panel;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const double* from = image + channel * volume;
      for (const auto& offsets : offsets_) {
        for (std::size_t column = 0; column < kPanelColumns; ++column) {
          to[column] = offsets[column] < 0 ? 0.0 : from[offsets[column]];
        }
        to += kPanelColumns;
      }
    }
  }

 private:
  /// Computes, for each kernel position, which image element each column reads; -1 means padding.
  void fill_offsets() {
    offsets_.clear();
    for (std::int64_t d = 0; d < shape_.kernel[0]; ++d) {
      for (std::int64_t h = 0; h < shape_.kernel[1]; ++h) {
        for (std::int64_t w = 0; w < shape_.kernel[2]; ++w) {
          std::array<std::int64_t, kPanelColumns> offsets;
          for (std::size_t column = 0; column < kPanelColumns; ++column) {
            const std::int64_t z = origin_[column][0] + d * shape_.dilations[0];
            const std::int64_t y = origin_[column][1] + h * shape_.dilations[1];
            const std::int64_t x = origin_[column][2] + w * shape_.dilations[2];
            const bool inside = used_[column] && z >= 0 && z < shape_.image[0] && y >= 0 &&
                                y < shape_.image[1] && x >= 0 && x < shape_.image[2];
            offsets[column] = inside ? (z * shape_.image[1] + y) * shape_.image[2] + x : -1;
          }
          offsets_.push_back(offsets);
        }
      }
    }
  }

  const ConvolutionShape& shape_;
  std::array<bool, kPanelColumns> used_{};
  std::array<ConvolutionShape::Spatial, kPanelColumns> origin_{};
  std::vector<std::array<std::int64_t, kPanelColumns>> offsets_;
};

}  // namespace

Numbers convolution(const model::LayerSpec& spec, Operands operands) {
  const ConvolutionShape shape = convolution_shape(spec);
  const Numbers& x = operands[0];
  const Numbers& w = operands[1];
  const std::int64_t positions = ConvolutionShape::volume(shape.grid);
  const std::int64_t in_channels = shape.image_channels / shape.group;
  const std::int64_t out_channels = shape.grid_channels / shape.group;
  const std::int64_t depth = in_channels * ConvolutionShape::volume(shape.kernel);
  const std::int64_t image_volume = ConvolutionShape::volume(shape.image);

  Numbers y = bias_in_every_element(spec, operands);
  ImagePanel columns(shape);
  std::vector<double> panel(static_cast<std::size_t>(depth) * kPanelColumns);
  constexpr auto kStep = static_cast<std::int64_t>(kPanelColumns);
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t g = 0; g < shape.group; ++g) {
      const double* image =
          x.values.data() + (n * shape.image_channels + g * in_channels) * image_volume;
      const double* weights = w.values.data() + g * out_channels * depth;
      double* grid = y.values.data() + (n * shape.grid_channels + g * out_channels) * positions;
      for (std::int64_t first = 0; first < positions; first += kStep) {
        columns.fill(image, in_channels, first, panel.data());
        multiply_panel(weights,
                       static_cast<std::size_t>(out_channels),
                       static_cast<std::size_t>(depth),
                       panel.data(),
                       grid + first,
                       static_cast<std::size_t>(positions),
                       static_cast<std::size_t>(std::min(kStep, positions - first)));
      }
    }
  }
  return y;
}

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
