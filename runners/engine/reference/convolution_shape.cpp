// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/convolution_shape.hpp"

namespace plumb::engine::reference {

ConvolutionShape convolution_shape(const model::LayerSpec& spec) {
  require(
      spec.has_input(0) && spec.has_input(1) && !spec.outputs.empty(), spec, "x or w is missing");
  const bool transposed = spec.op == "conv_transpose";
  const Dims& x = spec.inputs[0]->dims;
  const Dims& w = spec.inputs[1]->dims;
  const Dims& y = spec.outputs[0].dims;
  const std::size_t axes = x.size() - 2;
  require(x.size() >= 3 && x.size() <= 5, spec, "x does not have one to three spatial axes");
  require(w.size() == x.size() && y.size() == x.size(), spec, "x, w and y differ in rank");
  const Dims& strides = spec.integers("strides");
  const Dims& dilations = spec.integers("dilations");
  const Dims& pads = spec.integers("pads");
  const Dims extra = transposed ? spec.integers("output_padding") : Dims(axes, 0);
  require(strides.size() == axes && dilations.size() == axes && pads.size() == 2 * axes &&
              extra.size() == axes,
          spec,
          "strides, dilations or pads do not fit the spatial axes");

  ConvolutionShape shape;
  shape.batch = x[0];
  shape.group = spec.integer("group");
  const Dims& image = transposed ? y : x;
  const Dims& grid = transposed ? x : y;
  shape.image_channels = image[1];
  shape.grid_channels = grid[1];
  require(shape.group >= 1 && shape.image_channels % shape.group == 0 &&
              shape.grid_channels % shape.group == 0,
          spec,
          "the channels are not a multiple of the groups");
  // Both operators store w as [grid side's channels, image side's channels of one group, kernel…].
  require(y[0] == x[0] && w[0] == shape.grid_channels && w[1] * shape.group == shape.image_channels,
          spec,
          "batch or channels of x, w and y do not fit");
  if (spec.has_input(2)) {
    require(
        spec.inputs[2]->dims == Dims{y[1]}, spec, "the bias is not one number for each channel");
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::size_t to = 3 - axes + axis;
    shape.image[to] = image[axis + 2];
    shape.grid[to] = grid[axis + 2];
    shape.kernel[to] = w[axis + 2];
    shape.strides[to] = strides[axis];
    shape.dilations[to] = dilations[axis];
    shape.pads[to] = pads[axis];
    constexpr std::int64_t kMost = std::int64_t{1} << 30;  // keeps all sums below 2^62
    require(strides[axis] >= 1 && dilations[axis] >= 1 && strides[axis] < kMost &&
                dilations[axis] < kMost && pads[axis] > -kMost && pads[axis] < kMost &&
                pads[axis + axes] > -kMost && pads[axis + axes] < kMost && extra[axis] >= 0 &&
                extra[axis] < kMost && w[axis + 2] >= 1 && w[axis + 2] < kMost &&
                x[axis + 2] < kMost && y[axis + 2] < kMost,
            spec,
            "a stride, dilation, pad or extent is out of range");
    const std::int64_t window = dilations[axis] * (w[axis + 2] - 1) + 1;
    const std::int64_t padded = pads[axis] + pads[axis + axes];
    if (transposed) {
      require(y[axis + 2] == strides[axis] * (x[axis + 2] - 1) + extra[axis] + window - padded,
              spec,
              "the output's extent does not follow from the input's");
    } else {
      const std::int64_t room = x[axis + 2] + padded - window;
      require(room >= 0 && y[axis + 2] == room / strides[axis] + 1,
              spec,
              "the output's extent does not follow from the input's");
    }
  }
  return shape;
}

Numbers bias_in_every_element(const model::LayerSpec& spec, Operands operands) {
  Numbers y = zeros_like_output(spec);
  if (spec.has_input(2)) {
    const std::vector<double>& bias = operands[2].values;
    const auto positions = static_cast<std::size_t>(product(y.dims, 2, y.dims.size()));
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = bias[i / positions % bias.size()];
    }
  }
  return y;
}

}  // namespace plumb::engine::reference
