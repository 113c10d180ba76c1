// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/numbers.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine::reference {

void require(bool condition, const model::LayerSpec& spec, std::string_view what) {
  if (!condition) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("a {} layer contradicts itself: {}; check the key's shapes and attributes",
                    spec.op,
                    what));
  }
}

Numbers zeros_like_output(const model::LayerSpec& spec, std::size_t index) {
  require(index < spec.outputs.size(), spec, "an output is missing");
  const model::TensorType& type = spec.outputs[index];
  return {type.dims, std::vector<double>(static_cast<std::size_t>(element_count(type)))};
}

std::vector<Numbers> numbers_of_operands(const model::LayerSpec& spec,
                                         std::span<const model::Tensor> operands) {
  std::vector<Numbers> numbers(spec.inputs.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (spec.has_input(i)) {
      numbers[i] = {operands[i].type.dims, read_numbers(operands[i])};
    }
  }
  return numbers;
}

std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t axis = begin; axis < end; ++axis) {
    result *= dims[axis];
  }
  return result;
}

std::int64_t product(const Dims& dims) {
  return product(dims, 0, dims.size());
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * dims[axis];
  }
  return strides;
}

Numbers::Broadcasting::Broadcasting(const model::LayerSpec& spec, const Dims& from, const Dims& to)
    : same_(from == to) {
  require(
      from.size() <= to.size(), spec, "an operand has more dimensions than what it broadcasts to");
  const std::size_t missing = to.size() - from.size();
  const Dims strides = dense_strides(from);
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const std::int64_t extent = axis < missing ? 1 : from[axis - missing];
    require(extent == 1 || extent == to[axis], spec, "an operand does not broadcast to the output");
    extents_.push_back(static_cast<std::size_t>(to[axis]));
    strides_.push_back(extent == 1 ? 0 : static_cast<std::size_t>(strides[axis - missing]));
  }
}

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

namespace {

MatrixShape gemm_shape(const model::LayerSpec& spec, const Dims& a, const Dims& b, const Dims& y) {
  const bool turn_a = spec.integer("trans_a") != 0;
  const bool turn_b = spec.integer("trans_b") != 0;
  require(a.size() == 2 && b.size() == 2 && y.size() == 2, spec, "a, b and y are not matrices");
  const std::int64_t depth = turn_a ? a[0] : a[1];
  require(y[0] == (turn_a ? a[1] : a[0]) && y[1] == (turn_b ? b[0] : b[1]) &&
              depth == (turn_b ? b[1] : b[0]),
          spec,
          "the shapes of a, b and y do not fit");
  MatrixShape shape;
  shape.rows = static_cast<std::size_t>(y[0]);
  shape.depth = static_cast<std::size_t>(depth);
  shape.columns = static_cast<std::size_t>(y[1]);
  shape.a_row = turn_a ? 1 : shape.depth;
  shape.a_depth = turn_a ? shape.rows : 1;
  shape.b_depth = turn_b ? 1 : shape.columns;
  shape.b_column = turn_b ? shape.depth : 1;
  return shape;
}

}  // namespace

MatrixShape matrix_shape(const model::LayerSpec& spec) {
  require(
      spec.has_input(0) && spec.has_input(1) && !spec.outputs.empty(), spec, "a or b is missing");
  Dims a = spec.inputs[0]->dims;
  Dims b = spec.inputs[1]->dims;
  const Dims& y = spec.outputs[0].dims;
  if (spec.op == "gemm") {
    return gemm_shape(spec, a, b, y);
  }
  // As in numpy.matmul, a vector is a matrix of one row (a) or one column (b), an axis that the
  // output lacks.
  require(!a.empty() && !b.empty(), spec, "a or b is a scalar");
  const bool row_vector = a.size() == 1;
  const bool column_vector = b.size() == 1;
  if (row_vector) {
    a.insert(a.begin(), 1);
  }
  if (column_vector) {
    b.push_back(1);
  }
  require(a.back() == b[b.size() - 2], spec, "a's columns are not b's rows");
  MatrixShape shape;
  shape.rows = static_cast<std::size_t>(a[a.size() - 2]);
  shape.depth = static_cast<std::size_t>(a.back());
  shape.columns = static_cast<std::size_t>(b.back());
  shape.a_row = shape.depth;
  shape.a_depth = 1;
  shape.b_depth = shape.columns;
  shape.b_column = 1;
  shape.a_batch.assign(a.begin(), a.end() - 2);
  shape.b_batch.assign(b.begin(), b.end() - 2);

  Dims matrix;
  if (!row_vector) {
    matrix.push_back(a[a.size() - 2]);
  }
  if (!column_vector) {
    matrix.push_back(b.back());
  }
  require(y.size() >= matrix.size() &&
              Dims(y.end() - static_cast<std::ptrdiff_t>(matrix.size()), y.end()) == matrix,
          spec,
          "the output's rows or columns are not those of a and b");
  shape.batch.assign(y.begin(), y.end() - static_cast<std::ptrdiff_t>(matrix.size()));
  return shape;
}

}  // namespace plumb::engine::reference
