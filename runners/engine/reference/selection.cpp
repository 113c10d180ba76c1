// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

model::Tensor empty_output(const model::LayerSpec& spec) {
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
  model::Tensor result = empty_output(spec);
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
  model::Tensor result = empty_output(spec);
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
  const Broadcast condition(spec, spec.inputs[0]->dims, y.dims);
  const Broadcast a(spec, spec.inputs[1]->dims, y.dims);
  const Broadcast b(spec, spec.inputs[2]->dims, y.dims);
  model::Tensor result = empty_output(spec);
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
