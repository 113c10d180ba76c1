// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

BuiltinLayer::MoveSide input_side(const BuiltinLayer::Operands& operands, std::size_t index = 0) {
  return {operands.input_strides(index), 0, operands.input_buffer(index)};
}
BuiltinLayer::MoveSide output_side(const BuiltinLayer::Operands& operands, std::size_t index = 0) {
  return {operands.output_strides(index), 0, operands.output_buffer(index)};
}

std::size_t axis_of(const BuiltinLayer::Operands& operands) {
  const std::int64_t axis = operands.spec().integer("axis");
  if (axis < 0 || axis >= std::ssize(operands.input(0).dims)) {
    throw Unsupported(fmt::format("axis {} lies outside the operand", axis));
  }
  return static_cast<std::size_t>(axis);
}

std::vector<KernelLaunch> moved_all(const BuiltinLayer::Operands& operands,
                                    const Dimensions& extents,
                                    Dimensions to,
                                    Dimensions from,
                                    std::int64_t start = 0) {
  return {move_launch(operands.output().dtype,
                      extents,
                      {std::move(to), 0, operands.output_buffer()},
                      {std::move(from), start, operands.input_buffer(0)})};
}

}  // namespace

KernelLaunch move_launch(model::DataType type,
                         const Dimensions& extents,
                         const BuiltinLayer::MoveSide& to,
                         const BuiltinLayer::MoveSide& from) {
  kernels::MapShape shape{};
  shape.space = joined_space(extents, {to.strides, from.strides});
  shape.starts[0] = to.start;
  shape.starts[1] = from.start;
  return element_launch(fmt::format("copy<{}>", moved_name(type)),
                        "MapShape",
                        shape,
                        shape.space.count,
                        {to.buffer, from.buffer});
}

std::vector<KernelLaunch> move_concat(const BuiltinLayer::Operands& operands) {
  const std::size_t axis = axis_of(operands);
  std::vector<KernelLaunch> launches;
  BuiltinLayer::MoveSide to = output_side(operands);
  for (std::size_t i = 0; i < operands.spec().inputs.size(); ++i) {
    const model::TensorType& part = operands.input(i);
    if (element_count(part) > 0) {
      launches.push_back(move_launch(part.dtype, part.dims, to, input_side(operands, i)));
    }
    to.start += part.dims.at(axis) * to.strides[axis];
  }
  if (launches.empty()) {
    throw Unsupported("a tensor without elements");
  }
  return launches;
}

std::vector<KernelLaunch> move_split(const BuiltinLayer::Operands& operands) {
  const std::size_t axis = axis_of(operands);
  std::vector<KernelLaunch> launches;
  BuiltinLayer::MoveSide from = input_side(operands);
  for (std::size_t i = 0; i < operands.spec().outputs.size(); ++i) {
    const model::TensorType& part = operands.output(i);
    if (element_count(part) > 0) {
      launches.push_back(move_launch(part.dtype, part.dims, output_side(operands, i), from));
    }
    from.start += part.dims.at(axis) * from.strides[axis];
  }
  if (launches.empty()) {
    throw Unsupported("a tensor without elements");
  }
  return launches;
}

std::vector<KernelLaunch> move_slice(const BuiltinLayer::Operands& operands) {
  const std::vector<std::int64_t>& axes = operands.spec().integers("axes");
  const std::vector<std::int64_t>& starts = operands.spec().integers("starts");
  const std::vector<std::int64_t>& steps = operands.spec().integers("steps");
  BuiltinLayer::MoveSide from = input_side(operands);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    from.start += starts.at(i) * from.strides.at(axis);
    from.strides[axis] *= steps.at(i);
  }
  return {
      move_launch(operands.output().dtype, operands.output().dims, output_side(operands), from)};
}

std::vector<KernelLaunch> move_transpose(const BuiltinLayer::Operands& operands) {
  const Dimensions from = operands.input_strides(0);
  Dimensions turned;
  for (const std::int64_t axis : operands.spec().integers("perm")) {
    turned.push_back(from.at(static_cast<std::size_t>(axis)));
  }
  return moved_all(operands, operands.output().dims, operands.output_strides(), std::move(turned));
}

std::vector<KernelLaunch> move_expand(const BuiltinLayer::Operands& operands) {
  const Dimensions& y = operands.output().dims;
  return moved_all(operands,
                   y,
                   operands.output_strides(),
                   broadcast_strides(operands.input(0).dims, operands.input_strides(0), y));
}

std::vector<KernelLaunch> move_tile(const BuiltinLayer::Operands& operands) {
  const Dimensions& x = operands.input(0).dims;
  const Dimensions from_strides = operands.input_strides(0);
  const Dimensions to_strides = operands.output_strides();
  Dimensions extents;
  Dimensions to;
  Dimensions from;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    extents.insert(extents.end(), {operands.spec().integers("repeats").at(axis), x[axis]});
    to.insert(to.end(), {to_strides[axis] * x[axis], to_strides[axis]});
    from.insert(from.end(), {0, from_strides[axis]});
  }
  return moved_all(operands, extents, std::move(to), std::move(from));
}

std::vector<KernelLaunch> move_view(const BuiltinLayer::Operands& operands) {
  const std::int64_t count = element_count(operands.output());
  return moved_all(operands, {count}, {1}, {1});
}

std::vector<KernelLaunch> move_depth_to_space(const BuiltinLayer::Operands& operands) {
  const Dimensions& x = operands.input(0).dims;
  const std::int64_t block = operands.spec().integer("block");
  const Dimensions from = operands.input_strides(0);
  const Dimensions to = operands.output_strides();
  const std::int64_t depth = x.at(1) / (block * block);
  const bool depth_first = operands.spec().text("mode") == "dcr";
  const std::int64_t row = (depth_first ? block * depth : block) * from[1];
  const std::int64_t column = (depth_first ? depth : 1) * from[1];
  const std::int64_t channel = (depth_first ? 1 : block * block) * from[1];
  return moved_all(operands,
                   {x[0], depth, x[2], block, x[3], block},
                   {to[0], to[1], to[2] * block, to[2], to[3] * block, to[3]},
                   {from[0], channel, from[2], row, from[3], column});
}

std::vector<KernelLaunch> move_space_to_depth(const BuiltinLayer::Operands& operands) {
  const Dimensions& x = operands.input(0).dims;
  const std::int64_t block = operands.spec().integer("block");
  const Dimensions from = operands.input_strides(0);
  const Dimensions to = operands.output_strides();
  return moved_all(operands,
                   {x[0], block, block, x.at(1), x[2] / block, x[3] / block},
                   {to[0], to[1] * x[1] * block, to[1] * x[1], to[1], to[2], to[3]},
                   {from[0], from[2], from[3], from[1], from[2] * block, from[3] * block});
}

KernelLaunch layout_change(const model::TensorType& type,
                           TensorLayout from,
                           TensorLayout to,
                           std::size_t source,
                           std::size_t result) {
  return move_launch(type.dtype,
                     type.dims,
                     {compute_strides(type.dims, to), 0, result},
                     {compute_strides(type.dims, from), 0, source});
}

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

std::vector<KernelLaunch> select_gather(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> select_pad(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> select_resize(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> pool_windows(const BuiltinLayer::Operands& operands) {
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
