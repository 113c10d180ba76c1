// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "runners/engine/number_formats.hpp"
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

namespace {

/// Makes the output of a layer whose operands are of several types.
model::Tensor mixed_output(const model::LayerSpec& spec) {
  const model::TensorType& type = spec.outputs[0];
  return {type, std::vector<std::byte>(static_cast<std::size_t>(model::byte_size(type).value))};
}

void copy_elements(const model::Tensor& from,
                   std::size_t read,
                   std::size_t count,
                   model::Tensor& to,
                   std::size_t write) {
  const auto bytes = static_cast<std::size_t>(model::element_bytes(to.type.dtype));
  std::memcpy(to.data.data() + write * bytes, from.data.data() + read * bytes, count * bytes);
}

constexpr std::int64_t kPadding = -1;

/// Returns, for one axis, the input position that each output position shows.
std::vector<std::int64_t> padded_positions(const model::LayerSpec& spec,
                                           const std::string& mode,
                                           std::int64_t extent,
                                           std::int64_t padded_extent,
                                           std::int64_t begin) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < padded_extent; ++i) {
    std::int64_t at = i - begin;
    if (at < 0 || at >= extent) {
      if (mode == "constant") {
        at = kPadding;
      } else {
        require(extent > 0, spec, "there are no elements to repeat into the padding");
        if (mode == "edge") {
          at = at < 0 ? 0 : extent - 1;
        } else if (mode == "wrap") {
          at = (at % extent + extent) % extent;
        } else {
          require(mode == "reflect", spec, "the mode is unknown");
          const std::int64_t period = extent > 1 ? 2 * (extent - 1) : 1;
          at = (at % period + period) % period;
          at = at < extent ? at : period - at;
        }
      }
    }
    positions.push_back(at);
  }
  return positions;
}

}  // namespace

std::vector<model::Tensor> pad(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims& pads = spec.integers("pads");
  const std::size_t rank = x.size();
  require(
      pads.size() == 2 * rank && y.size() == rank && spec.outputs[0].dtype == spec.inputs[0]->dtype,
      spec,
      "pads or the output do not fit x");
  std::vector<std::vector<std::int64_t>> positions;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    require(pads[axis] > -kMost && pads[axis] < kMost && pads[axis + rank] > -kMost &&
                pads[axis + rank] < kMost && y[axis] == x[axis] + pads[axis] + pads[axis + rank],
            spec,
            "the output's shape does not follow from pads");
    positions.push_back(padded_positions(spec, spec.text("mode"), x[axis], y[axis], pads[axis]));
  }
  model::Tensor result = mixed_output(spec);
  const model::TensorType one{spec.outputs[0].dtype, {}};
  const model::Tensor fill = tensor_from(one, std::vector{spec.real("value")});
  const Dims strides = dense_strides(x);
  const auto count = static_cast<std::size_t>(product(y));
  for (std::size_t element = 0; element < count; ++element) {
    auto rest = static_cast<std::int64_t>(element);
    std::int64_t from = 0;
    for (std::size_t axis = rank; axis-- > 0 && from != kPadding;) {
      const std::int64_t at = positions[axis][static_cast<std::size_t>(rest % y[axis])];
      from = at == kPadding ? kPadding : from + at * strides[axis];
      rest /= y[axis];
    }
    const bool padding = from == kPadding;
    copy_elements(padding ? fill : operands[0],
                  padding ? 0 : static_cast<std::size_t>(from),
                  1,
                  result,
                  element);
  }
  return {std::move(result)};
}

std::vector<model::Tensor> gather(const model::LayerSpec& spec, Tensors operands) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& indices = spec.inputs[1]->dims;
  const std::int64_t given = spec.integer("axis");
  require(given >= 0 && given < static_cast<std::int64_t>(x.size()) &&
              !model::is_floating(spec.inputs[1]->dtype) &&
              spec.outputs[0].dtype == spec.inputs[0]->dtype,
          spec,
          "axis lies outside x, or types do not fit");
  const auto axis = static_cast<std::size_t>(given);
  Dims y(x.begin(), x.begin() + given);
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), x.begin() + given + 1, x.end());
  require(spec.outputs[0].dims == y, spec, "the output's shape does not follow from the inputs'");

  const std::vector<double> positions = read_numbers(operands[1]);
  model::Tensor result = mixed_output(spec);
  const auto inner = static_cast<std::size_t>(product(x, axis + 1, x.size()));
  const auto outer = static_cast<std::size_t>(product(x, 0, axis));
  const auto extent = static_cast<std::size_t>(x[axis]);
  std::size_t write = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    for (const double position : positions) {
      const double from = position < 0 ? position + static_cast<double>(extent) : position;
      require(from >= 0 && from < static_cast<double>(extent), spec, "an index lies outside x");
      copy_elements(
          operands[0], (o * extent + static_cast<std::size_t>(from)) * inner, inner, result, write);
      write += inner;
    }
  }
  return {std::move(result)};
}

// y[o, i, :] = x[o, index[i], :], so each row of dy is added to the row of dx that it was read
// from.
Numbers gather_gradient(const model::LayerSpec& spec, Operands operands) {
  const Dims& x = spec.outputs[0].dims;
  const std::int64_t axis = spec.integer("axis");
  require(axis >= 0 && axis < static_cast<std::int64_t>(x.size()) &&
              !model::is_floating(spec.inputs[1]->dtype),
          spec,
          "axis lies outside dx, or the indices are no integers");
  const auto at = static_cast<std::size_t>(axis);
  const auto inner = static_cast<std::size_t>(product(x, at + 1, x.size()));
  const auto outer = static_cast<std::size_t>(product(x, 0, at));
  const auto extent = static_cast<std::size_t>(x[at]);
  const std::vector<double>& indices = operands[1].values;
  require(operands[0].values.size() == outer * indices.size() * inner,
          spec,
          "dy does not follow from dx and the indices");
  Numbers result = zeros_like_output(spec);
  const double* from = operands[0].values.data();
  for (std::size_t o = 0; o < outer; ++o) {
    for (const double index : indices) {
      const double row = index < 0 ? index + static_cast<double>(extent) : index;
      require(row >= 0 && row < static_cast<double>(extent), spec, "an index lies outside dx");
      double* const to =
          result.values.data() + (o * extent + static_cast<std::size_t>(row)) * inner;
      for (std::size_t i = 0; i < inner; ++i) {
        to[i] += *from++;
      }
    }
  }
  return result;
}

std::vector<model::Tensor> where(const model::LayerSpec& spec, Tensors operands) {
  const model::TensorType& y = spec.outputs[0];
  require(spec.inputs[1]->dtype == y.dtype && spec.inputs[2]->dtype == y.dtype,
          spec,
          "a, b and the output differ in type");
  const Numbers::Broadcasting condition(spec, spec.inputs[0]->dims, y.dims);
  const Numbers::Broadcasting a(spec, spec.inputs[1]->dims, y.dims);
  const Numbers::Broadcasting b(spec, spec.inputs[2]->dims, y.dims);
  model::Tensor result = mixed_output(spec);
  const auto count = static_cast<std::size_t>(element_count(y));
  for (std::size_t i = 0; i < count; ++i) {
    if (number_at(operands[0], condition(i)) != 0.0) {
      copy_elements(operands[1], a(i), 1, result, i);
    } else {
      copy_elements(operands[2], b(i), 1, result, i);
    }
  }
  return {std::move(result)};
}

}  // namespace plumb::engine::reference
