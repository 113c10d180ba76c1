// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"
#include "runners/onednn/kernels/mapped_copy.hpp"

namespace plumb::onednn {

namespace {

using Dims = std::vector<std::int64_t>;
using Offsets = std::vector<std::vector<std::int64_t>>;

}  // namespace

void copy_split(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require(spec.has_input(0) && !spec.outputs.empty(),
          spec,
          "needs one operand and at least one output");
  const Dims& x = spec.inputs[0].value().dims;
  const Dims strides = dense_strides(x);
  const std::int64_t along = spec.integer("axis");
  const std::size_t bytes = moved_element_bytes(spec);
  std::int64_t start = 0;
  std::vector<std::pair<MappedCopy, std::size_t>>
      copies;  // with the bytes before its part of the source
  for (const model::TensorType& output : spec.outputs) {
    require(output.dims.size() == x.size() && output.dtype == spec.inputs[0].value().dtype &&
                along >= 0 && along < static_cast<std::int64_t>(x.size()),
            spec,
            "outputs do not fit the input");
    Offsets offsets;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      const std::int64_t first = static_cast<std::int64_t>(axis) == along ? start : 0;
      require(first + output.dims[axis] <= x[axis], spec, "outputs do not fit the input");
      offsets.push_back(strided_offsets(output.dims[axis], strides[axis]));
    }
    const auto axis = static_cast<std::size_t>(along);
    copies.emplace_back(MappedCopy(std::move(offsets), bytes),
                        static_cast<std::size_t>(start * strides[axis]) * bytes);
    start += output.dims[axis];
  }
  add_own(list, spec, "split", [copies = std::move(copies)](const KernelOperands& operands) {
    for (std::size_t index = 0; index < copies.size(); ++index) {
      copies[index].first.run(operands.input(0) + copies[index].second, operands.output(index));
    }
  });
}

void copy_concat(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require_operands(spec, spec.inputs.size());
  const model::TensorType& y = spec.outputs[0];
  const std::int64_t along = spec.integer("axis");
  require(along >= 0 && along < static_cast<std::int64_t>(y.dims.size()),
          spec,
          "the axis is out of range");
  const auto axis = static_cast<std::size_t>(along);
  const auto bytes = static_cast<std::int64_t>(moved_element_bytes(spec));
  const std::int64_t inner = dense_strides(y.dims)[axis] * bytes;
  std::int64_t outer = 1;
  for (std::size_t dim = 0; dim < axis; ++dim) {
    outer *= y.dims[dim];
  }
  std::vector<std::size_t> chunks;  // bytes that each operand gives at a time
  std::int64_t total = 0;
  for (const auto& operand : spec.inputs) {
    Dims expected = y.dims;
    require(operand->dims.size() == expected.size() && operand->dtype == y.dtype,
            spec,
            "operands do not fit");
    expected[axis] = operand->dims[axis];
    require(operand->dims == expected, spec, "operands do not fit");
    total += operand->dims[axis];
    chunks.push_back(static_cast<std::size_t>(operand->dims[axis] * inner));
  }
  require(total == y.dims[axis], spec, "the output's extent is not the sum of the operands'");
  const bool empty = element_count(y) == 0;
  add_own(list, spec, "concat", [=, chunks = std::move(chunks)](const KernelOperands& operands) {
    std::byte* destination = operands.output(0);
    for (std::int64_t batch = 0; batch < (empty ? 0 : outer); ++batch) {
      for (std::size_t index = 0; index < chunks.size(); ++index) {
        std::memcpy(destination,
                    operands.input(index) + static_cast<std::size_t>(batch) * chunks[index],
                    chunks[index]);
        destination += chunks[index];
      }
    }
  });
}

}  // namespace plumb::onednn
