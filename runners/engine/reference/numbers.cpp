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

Broadcast::Broadcast(const model::LayerSpec& spec, const Dims& from, const Dims& to)
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

}  // namespace plumb::engine::reference
