// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

template <std::size_t Size>
int index_in(const std::array<std::string_view, Size>& words, const std::string& word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    throw Unsupported(fmt::format("'{}' is not known here", word));
  }
  return static_cast<int>(found - words.begin());
}

}  // namespace

std::vector<KernelLaunch> select_gather(const OwnOperands& operands) {
  const model::TensorType& data = operands.input(0);
  const model::TensorType& indices = operands.input(1);
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const auto from = data.dims.begin();
  const auto at = static_cast<std::ptrdiff_t>(axis);
  Dimensions extents(from, from + at);
  extents.insert(extents.end(), indices.dims.begin(), indices.dims.end());
  extents.insert(extents.end(), from + at + 1, data.dims.end());
  if (extents != operands.output().dims || data.dims.at(axis) == 0) {
    throw Unsupported("the output's shape does not follow from the input's");
  }
  const Dimensions data_strides = operands.input_strides(0);
  const Dimensions index_strides = operands.input_strides(1);
  Dimensions of_data(extents.size(), 0);
  Dimensions of_indices(extents.size(), 0);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t behind = axis + indices.dims.size();
    if (i < axis) {
      of_data[i] = data_strides[i];
    } else if (i < behind) {
      of_indices[i] = index_strides[i - axis];
    } else {
      of_data[i] = data_strides[i - indices.dims.size() + 1];
    }
  }
  kernels::GatherShape shape{};
  shape.space = joined_space(extents, {operands.output_strides(), of_data, of_indices});
  shape.extent = data.dims[axis];
  shape.axis_stride = data_strides[axis];
  return {element_launch(
      fmt::format("gather<{}, {}>", moved_name(data.dtype), element_name(indices.dtype)),
      "GatherShape",
      shape,
      shape.space.count,
      {operands.output_buffer(), operands.input_buffer(0), operands.input_buffer(1)})};
}

std::vector<KernelLaunch> select_pad(const OwnOperands& operands) {
  constexpr std::array<std::string_view, 4> kModes{"constant", "reflect", "edge", "wrap"};
  const model::TensorType& x = operands.input(0);
  const std::vector<std::int64_t>& pads = operands.spec().integers("pads");
  kernels::PadShape shape{};
  shape.space =
      plain_space(operands.output().dims, {operands.output_strides(), operands.input_strides(0)});
  shape.mode = index_in(kModes, operands.spec().text("mode"));
  shape.value = operands.spec().real("value");
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    if (x.dims[axis] == 0) {
      throw Unsupported("a tensor without elements");
    }
    shape.before[axis] = pads.at(axis);
    shape.extents[axis] = x.dims[axis];
  }
  return {element_launch(fmt::format("pad<{}, {}>", compute_name(x.dtype), element_name(x.dtype)),
                         "PadShape",
                         shape,
                         shape.space.count,
                         {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> select_resize(const OwnOperands& operands) {
  constexpr std::array<std::string_view, 6> kCoordinates{"half_pixel",
                                                         "half_pixel_symmetric",
                                                         "pytorch_half_pixel",
                                                         "align_corners",
                                                         "asymmetric",
                                                         "tf_half_pixel_for_nn"};
  constexpr std::array<std::string_view, 4> kNearest{
      "floor", "ceil", "round_prefer_ceil", "round_prefer_floor"};
  const model::LayerSpec& spec = operands.spec();
  const model::TensorType& x = operands.input(0);
  const std::string& mode = spec.text("mode");
  if (mode == "cubic" || spec.integer("antialias") != 0 || spec.integer("exclude_outside") != 0) {
    throw Unsupported("resizing by cubics, with antialiasing, or with exclude_outside");
  }
  kernels::ResizeShape shape{};
  shape.space =
      plain_space(operands.output().dims, {operands.output_strides(), operands.input_strides(0)});
  shape.coordinates = index_in(kCoordinates, spec.text("coordinates"));
  shape.nearest = mode == "nearest" ? index_in(kNearest, spec.text("nearest_mode")) : 0;
  shape.resized_axes[0] = shape.resized_axes[1] = -1;
  std::size_t resized = 0;
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    const double scale = spec.reals("scales").at(axis);
    shape.extents[axis] = x.dims[axis];
    shape.scales[axis] = scale;
    shape.resized[axis] = scale * static_cast<double>(x.dims[axis]);
    if (scale == 1.0 && x.dims[axis] == operands.output().dims[axis]) {
      continue;
    }
    if (resized == 2 || x.dims[axis] == 0) {
      throw Unsupported("resizing along more than two axes, or without elements");
    }
    shape.resized_axes[resized++] = static_cast<int>(axis);
  }
  const std::string call =
      mode == "nearest"
          ? fmt::format("resize_nearest<{}>", moved_name(x.dtype))
          : fmt::format("resize_linear<{}, {}>", compute_name(x.dtype), element_name(x.dtype));
  return {element_launch(call,
                         "ResizeShape",
                         shape,
                         shape.space.count,
                         {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> pool_windows(const OwnOperands& operands) {
  const model::LayerSpec& spec = operands.spec();
  const model::TensorType& x = operands.input(0);
  if (x.dims.size() < 3 || x.dims.size() > 5) {
    throw Unsupported(fmt::format("an input of rank {}", x.dims.size()));
  }
  const std::size_t axes = x.dims.size() - 2;
  const auto with_three_axes = [&](Dimensions values, std::int64_t filler) {
    values.insert(values.begin() + 2, 3 - axes, filler);
    return values;
  };
  kernels::PoolShape shape{};
  shape.out = plain_space(with_three_axes(operands.output().dims, 1),
                          {with_three_axes(operands.output_strides(), 0),
                           with_three_axes(operands.input_strides(0), 0)});
  for (std::size_t to = 0; to < 3; ++to) {
    const bool given = to >= 3 - axes;
    const std::size_t axis = given ? to - (3 - axes) : 0;
    const auto value = [&](const char* name) { return given ? spec.integers(name).at(axis) : 1; };
    shape.in[to] = given ? x.dims[axis + 2] : 1;
    shape.kernel[to] = value("kernel");
    shape.strides[to] = value("strides");
    shape.dilations[to] = value("dilations");
    shape.pads[to] = given ? spec.integers("pads").at(axis) : 0;
    shape.end_pads[to] = given ? spec.integers("pads").at(axis + axes) : 0;
  }
  std::string kind = "MaxPool";
  if (spec.op == "average_pool") {
    kind = "AveragePool";
    shape.include_pad = static_cast<int>(spec.integer("count_include_pad"));
  } else if (spec.op == "lp_pool") {
    kind = "PowerPool";
    shape.power = static_cast<double>(spec.integer("p"));
  }
  if (kind != "MaxPool" && !model::is_floating(x.dtype)) {
    throw Unsupported("averages of integers");
  }
  return {element_launch(
      fmt::format("pool<{}, {}, {}>", kind, compute_name(x.dtype), element_name(x.dtype)),
      "PoolShape",
      shape,
      shape.out.count,
      {operands.output_buffer(), operands.input_buffer(0)})};
}

}  // namespace plumb::cuda
