// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

MoveSide input_side(const OwnOperands& operands, std::size_t index = 0) {
  return {operands.input_strides(index), 0, operands.input_buffer(index)};
}
MoveSide output_side(const OwnOperands& operands, std::size_t index = 0) {
  return {operands.output_strides(index), 0, operands.output_buffer(index)};
}

std::size_t axis_of(const OwnOperands& operands) {
  const std::int64_t axis = operands.spec().integer("axis");
  if (axis < 0 || axis >= std::ssize(operands.input(0).dims)) {
    throw Unsupported(fmt::format("axis {} lies outside the operand", axis));
  }
  return static_cast<std::size_t>(axis);
}

std::vector<KernelLaunch> moved_all(const OwnOperands& operands,
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
                         const MoveSide& to,
                         const MoveSide& from) {
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

std::vector<KernelLaunch> move_concat(const OwnOperands& operands) {
  const std::size_t axis = axis_of(operands);
  std::vector<KernelLaunch> launches;
  MoveSide to = output_side(operands);
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

std::vector<KernelLaunch> move_split(const OwnOperands& operands) {
  const std::size_t axis = axis_of(operands);
  std::vector<KernelLaunch> launches;
  MoveSide from = input_side(operands);
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

std::vector<KernelLaunch> move_slice(const OwnOperands& operands) {
  const std::vector<std::int64_t>& axes = operands.spec().integers("axes");
  const std::vector<std::int64_t>& starts = operands.spec().integers("starts");
  const std::vector<std::int64_t>& steps = operands.spec().integers("steps");
  MoveSide from = input_side(operands);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    from.start += starts.at(i) * from.strides.at(axis);
    from.strides[axis] *= steps.at(i);
  }
  return {
      move_launch(operands.output().dtype, operands.output().dims, output_side(operands), from)};
}

std::vector<KernelLaunch> move_transpose(const OwnOperands& operands) {
  const Dimensions from = operands.input_strides(0);
  Dimensions turned;
  for (const std::int64_t axis : operands.spec().integers("perm")) {
    turned.push_back(from.at(static_cast<std::size_t>(axis)));
  }
  return moved_all(operands, operands.output().dims, operands.output_strides(), std::move(turned));
}

std::vector<KernelLaunch> move_expand(const OwnOperands& operands) {
  const Dimensions& y = operands.output().dims;
  return moved_all(operands,
                   y,
                   operands.output_strides(),
                   broadcast_strides(operands.input(0).dims, operands.input_strides(0), y));
}

std::vector<KernelLaunch> move_tile(const OwnOperands& operands) {
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

std::vector<KernelLaunch> move_view(const OwnOperands& operands) {
  const std::int64_t count = element_count(operands.output());
  return moved_all(operands, {count}, {1}, {1});
}

std::vector<KernelLaunch> move_depth_to_space(const OwnOperands& operands) {
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

std::vector<KernelLaunch> move_space_to_depth(const OwnOperands& operands) {
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

}  // namespace plumb::cuda
