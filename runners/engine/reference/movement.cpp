// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

model::Tensor empty_output(const model::LayerSpec& spec, std::size_t index = 0) {
  const model::TensorType& type = spec.outputs[index];
  require(type.dtype == spec.inputs[0]->dtype, spec, "an output has another type than the input");
  return {type, std::vector<std::byte>(static_cast<std::size_t>(model::byte_size(type).value))};
}

/// Box of elements in a tensor, `strides` apart, from element `first` on.
struct Box {
  Dims strides;
  std::int64_t first = 0;
};

/// Copies one element for each position within `dims`, from one box to another.
void copy(const Dims& dims,
          std::size_t bytes,
          const model::Tensor& from,
          const Box& source,
          model::Tensor& to,
          const Box& target) {
  const std::int64_t count = product(dims);
  Dims position(dims.size(), 0);
  std::int64_t read = source.first;
  std::int64_t write = target.first;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to.data.data() + static_cast<std::size_t>(write) * bytes,
                from.data.data() + static_cast<std::size_t>(read) * bytes,
                bytes);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      read += source.strides[axis];
      write += target.strides[axis];
      if (++position[axis] < dims[axis]) {
        break;
      }
      read -= source.strides[axis] * dims[axis];
      write -= target.strides[axis] * dims[axis];
      position[axis] = 0;
    }
  }
}

std::size_t element_size(const model::LayerSpec& spec) {
  return static_cast<std::size_t>(model::element_bytes(spec.inputs[0]->dtype));
}

/// Fills the only output, seen in the shape `dims`, from the input seen with `strides`.
std::vector<model::Tensor> rearranged(const model::LayerSpec& spec,
                                      Tensors operands,
                                      const Dims& dims,
                                      const Dims& strides,
                                      std::int64_t first = 0) {
  model::Tensor y = empty_output(spec);
  copy(dims, element_size(spec), operands[0], {strides, first}, y, {dense_strides(dims)});
  return {std::move(y)};
}

std::size_t checked_axis(const model::LayerSpec& spec) {
  const std::int64_t axis = spec.integer("axis");
  require(axis >= 0 && axis < static_cast<std::int64_t>(spec.inputs[0]->dims.size()),
          spec,
          "axis lies outside the input");
  return static_cast<std::size_t>(axis);
}

/// Returns whether two shapes differ along `axis` at most.
bool fits_beside(const Dims& part, const Dims& whole, std::size_t axis) {
  if (part.size() != whole.size()) {
    return false;
  }
  Dims same = part;
  same[axis] = whole[axis];
  return same == whole;
}

}  // namespace

std::vector<model::Tensor> concat(const model::LayerSpec& spec, Tensors operands) {
  const std::size_t axis = checked_axis(spec);
  model::Tensor y = empty_output(spec);
  const Dims strides = dense_strides(y.type.dims);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    require(spec.has_input(i) && spec.inputs[i]->dtype == y.type.dtype &&
                fits_beside(spec.inputs[i]->dims, y.type.dims, axis),
            spec,
            "an operand does not fit beside the others");
    const Dims& dims = spec.inputs[i]->dims;
    require(at + dims[axis] <= y.type.dims[axis], spec, "the operands are longer than the output");
    copy(dims,
         element_size(spec),
         operands[i],
         {dense_strides(dims)},
         y,
         {strides, at * strides[axis]});
    at += dims[axis];
  }
  require(at == y.type.dims[axis], spec, "the operands are shorter than the output");
  return {std::move(y)};
}

std::vector<model::Tensor> split(const model::LayerSpec& spec, Tensors operands) {
  const std::size_t axis = checked_axis(spec);
  const Dims& x = spec.inputs[0]->dims;
  const Dims strides = dense_strides(x);
  std::vector<model::Tensor> parts;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    model::Tensor y = empty_output(spec, i);
    const Dims& dims = y.type.dims;
    require(fits_beside(dims, x, axis) && at + dims[axis] <= x[axis],
            spec,
            "the outputs are not parts of the input");
    copy(dims,
         element_size(spec),
         operands[0],
         {strides, at * strides[axis]},
         y,
         {dense_strides(dims)});
    at += dims[axis];
    parts.push_back(std::move(y));
  }
  require(at == x[axis], spec, "the outputs are shorter than the input");
  return parts;
}

std::vector<model::Tensor> slice(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims& axes = spec.integers("axes");
  const Dims& starts = spec.integers("starts");
  const Dims& steps = spec.integers("steps");
  require(y.size() == x.size() && starts.size() == axes.size() && steps.size() == axes.size(),
          spec,
          "axes, starts, steps or the output do not fit the input");
  Dims strides = dense_strides(x);
  Dims whole = x;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(
        axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(x.size()), spec, "axes lie outside x");
    const auto axis = static_cast<std::size_t>(axes[i]);
    whole[axis] = y[axis];
    if (y[axis] == 0) {
      continue;
    }
    const std::int64_t reach = x[axis];
    require(steps[i] != 0 && starts[i] >= 0 && starts[i] < reach, spec, "starts lie outside x");
    // Compared as quotients: the product may not fit 64 bits.
    const std::int64_t room = steps[i] > 0 ? reach - 1 - starts[i] : starts[i];
    require(y[axis] == 1 || (steps[i] > -reach && steps[i] < reach &&
                             y[axis] - 1 <= room / (steps[i] > 0 ? steps[i] : -steps[i])),
            spec,
            "the slice ends outside x");
    first += starts[i] * strides[axis];
    strides[axis] *= y[axis] == 1 ? 0 : steps[i];
  }
  require(whole == y, spec, "the output's shape does not follow from the input's");
  return rearranged(spec, operands, y, strides, first);
}

std::vector<model::Tensor> transpose(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& perm = spec.integers("perm");
  require(perm.size() == x.size(), spec, "perm does not fit x");
  const Dims strides = dense_strides(x);
  std::vector<bool> seen(x.size(), false);
  Dims turned;
  Dims dims;
  for (const std::int64_t axis : perm) {
    require(axis >= 0 && axis < static_cast<std::int64_t>(x.size()) &&
                !seen[static_cast<std::size_t>(axis)],
            spec,
            "perm is not a permutation");
    seen[static_cast<std::size_t>(axis)] = true;
    dims.push_back(x[static_cast<std::size_t>(axis)]);
    turned.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  require(spec.outputs[0].dims == dims, spec, "the output's shape does not follow from perm");
  return rearranged(spec, operands, dims, turned);
}

std::vector<model::Tensor> view(const model::LayerSpec& spec, Tensors operands) {
  model::Tensor y = empty_output(spec);
  require(
      y.data.size() == operands[0].data.size(), spec, "the output has another size than the input");
  y.data = operands[0].data;
  return {std::move(y)};
}

std::vector<model::Tensor> expand(const model::LayerSpec& spec, Tensors operands) {
  const Dims& y = spec.outputs[0].dims;
  const Dims& x = spec.inputs[0]->dims;
  require(x.size() <= y.size(), spec, "x has more dimensions than the output");
  Dims strides = dense_strides(x);
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t wanted = y[y.size() - x.size() + axis];
    require(x[axis] == wanted || x[axis] == 1, spec, "x does not broadcast to the output");
    strides[axis] = x[axis] == 1 ? 0 : strides[axis];
  }
  strides.insert(strides.begin(), y.size() - x.size(), 0);
  return rearranged(spec, operands, y, strides);
}

std::vector<model::Tensor> tile(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims& repeats = spec.integers("repeats");
  require(repeats.size() == x.size() && y.size() == x.size(), spec, "repeats do not fit x");
  const Dims x_strides = dense_strides(x);
  Dims dims;
  Dims strides;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    require(repeats[axis] >= 0, spec, "repeats are negative");
    require(
        x[axis] == 0 ? y[axis] == 0 : y[axis] % x[axis] == 0 && y[axis] / x[axis] == repeats[axis],
        spec,
        "the output's shape does not follow from repeats");
    dims.insert(dims.end(), {repeats[axis], x[axis]});
    strides.insert(strides.end(), {0, x_strides[axis]});
  }
  return rearranged(spec, operands, dims, strides);
}

std::vector<model::Tensor> depth_to_space(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const std::int64_t block = spec.integer("block");
  require(x.size() == 4 && block >= 1 && block < (1 << 15) && x[1] % (block * block) == 0,
          spec,
          "x does not have four dimensions, or the block does not divide its channels");
  const std::int64_t depth = x[1] / (block * block);
  require(spec.outputs[0].dims == Dims{x[0], depth, x[2] * block, x[3] * block},
          spec,
          "the output's shape does not follow from the block");
  const Dims from = dense_strides(x);
  const bool depth_first = spec.text("mode") == "dcr";
  const std::int64_t row = (depth_first ? block * depth : block) * from[1];
  const std::int64_t column = (depth_first ? depth : 1) * from[1];
  const std::int64_t channel = (depth_first ? 1 : block * block) * from[1];
  return rearranged(spec,
                    operands,
                    {x[0], depth, x[2], block, x[3], block},
                    {from[0], channel, from[2], row, from[3], column});
}

std::vector<model::Tensor> space_to_depth(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const std::int64_t block = spec.integer("block");
  require(
      x.size() == 4 && block >= 1 && block < (1 << 15) && x[2] % block == 0 && x[3] % block == 0,
      spec,
      "x does not have four dimensions, or the block does not divide its extents");
  const std::int64_t height = x[2] / block;
  const std::int64_t width = x[3] / block;
  require(spec.outputs[0].dims == Dims{x[0], x[1] * block * block, height, width},
          spec,
          "the output's shape does not follow from the block");
  const Dims from = dense_strides(x);
  return rearranged(spec,
                    operands,
                    {x[0], block, block, x[1], height, width},
                    {from[0], from[2], from[3], from[1], from[2] * block, from[3] * block});
}

}  // namespace plumb::engine::reference
