// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "runners/engine/reference/convolution_shape.hpp"
#include "runners/engine/reference/matrix_panel.hpp"
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

}  // namespace plumb::engine::reference
