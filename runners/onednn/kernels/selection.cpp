// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/kernels/broadcast_rows.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"
#include "runners/onednn/kernels/element_block.hpp"

namespace plumb::onednn {
namespace {

template <typename Index>
void gather_blocks(const std::byte* source,
                   const std::byte* indices,
                   std::byte* destination,
                   std::int64_t outer,
                   std::int64_t extent,
                   std::int64_t count,
                   std::size_t block) {
  for (std::int64_t batch = 0; batch < outer; ++batch) {
    for (std::int64_t item = 0; item < count; ++item) {
      Index index = 0;
      std::memcpy(&index, indices + static_cast<std::size_t>(item) * sizeof index, sizeof index);
      // Negative indices count from the end. An index out of range must not read beyond the
      // operand.
      const std::int64_t wrapped = index < 0 ? index + extent : index;
      const auto row = static_cast<std::size_t>(std::clamp<std::int64_t>(wrapped, 0, extent - 1));
      std::memcpy(destination, source + row * block, block);
      destination += block;
    }
    source += static_cast<std::size_t>(extent) * block;
  }
}

/// Adds each row of a gradient to the row of the result that it was read from.
template <typename Index>
void add_blocks(const std::byte* source,
                const std::byte* indices,
                std::byte* destination,
                std::int64_t outer,
                std::int64_t extent,
                std::int64_t count,
                std::size_t length) {
  const std::size_t block = length * sizeof(float);
  std::memset(destination, 0, static_cast<std::size_t>(outer * extent) * block);
  for (std::int64_t batch = 0; batch < outer; ++batch) {
    for (std::int64_t item = 0; item < count; ++item) {
      Index index = 0;
      std::memcpy(&index, indices + static_cast<std::size_t>(item) * sizeof index, sizeof index);
      const std::int64_t wrapped = index < 0 ? index + extent : index;
      const auto row = static_cast<std::size_t>(std::clamp<std::int64_t>(wrapped, 0, extent - 1));
      const auto* const from = static_cast<const float*>(static_cast<const void*>(source));
      auto* const to = static_cast<float*>(static_cast<void*>(destination + row * block));
      for (std::size_t i = 0; i < length; ++i) {
        to[i] += from[i];
      }
      source += block;
    }
    destination += static_cast<std::size_t>(extent) * block;
  }
}

}  // namespace

void gather_rows(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require_operands(spec, 2);
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& indices = *spec.inputs[1];
  const std::int64_t axis = spec.integer("axis");
  require(axis >= 0 && axis < static_cast<std::int64_t>(x.dims.size()),
          spec,
          "the axis is out of range");
  require(indices.dtype == model::DataType::kS64 || indices.dtype == model::DataType::kS32,
          spec,
          "indices must be s32 or s64");
  const auto middle = x.dims.begin() + axis;
  std::vector<std::int64_t> expected(x.dims.begin(), middle);
  expected.insert(expected.end(), indices.dims.begin(), indices.dims.end());
  expected.insert(expected.end(), middle + 1, x.dims.end());
  require(expected == spec.outputs[0].dims && x.dtype == spec.outputs[0].dtype,
          spec,
          "the output does not follow from data and indices");
  const std::int64_t extent = *middle;
  const std::int64_t count = element_count(indices);
  require(extent > 0 || count == 0, spec, "there are no elements to index");
  std::int64_t outer = 1;
  for (auto dim = x.dims.begin(); dim != middle; ++dim) {
    outer *= *dim;
  }
  auto block = static_cast<std::size_t>(model::element_bytes(x.dtype));
  for (auto dim = middle + 1; dim != x.dims.end(); ++dim) {
    block *= static_cast<std::size_t>(*dim);
  }
  const bool wide = indices.dtype == model::DataType::kS64;
  add_own(list, spec, "gather", [=](const KernelOperands& operands) {
    const auto gather = wide ? gather_blocks<std::int64_t> : gather_blocks<std::int32_t>;
    gather(operands.input(0), operands.input(1), operands.output(0), outer, extent, count, block);
  });
}

void add_rows(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require_operands(spec, 2);
  const model::TensorType& x = spec.outputs[0];
  const model::TensorType& indices = *spec.inputs[1];
  require(x.dtype == model::DataType::kF32 && spec.inputs[0]->dtype == model::DataType::kF32,
          spec,
          "rows are added in f32");
  require(indices.dtype == model::DataType::kS64 || indices.dtype == model::DataType::kS32,
          spec,
          "indices must be s32 or s64");
  const auto axis = x.dims.begin() + spec.integer("axis");  // in range: check_spec() says so
  const std::int64_t count = element_count(indices);
  require(*axis > 0 || count == 0, spec, "there are no elements to index");
  std::int64_t outer = 1;
  for (auto dim = x.dims.begin(); dim != axis; ++dim) {
    outer *= *dim;
  }
  std::size_t length = 1;
  for (auto dim = axis + 1; dim != x.dims.end(); ++dim) {
    length *= static_cast<std::size_t>(*dim);
  }
  const std::int64_t extent = *axis;
  const bool wide = indices.dtype == model::DataType::kS64;
  add_own(list, spec, "scatter_add", [=](const KernelOperands& operands) {
    const auto add = wide ? add_blocks<std::int64_t> : add_blocks<std::int32_t>;
    add(operands.input(0), operands.input(1), operands.output(0), outer, extent, count, length);
  });
}

void select_where(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require_operands(spec, 3);
  const model::TensorType& y = spec.outputs[0];
  require(spec.inputs[0]->dtype == model::DataType::kBool && spec.inputs[1]->dtype == y.dtype &&
              spec.inputs[2]->dtype == y.dtype && model::element_bytes(y.dtype) > 0,
          spec,
          "needs a bool condition and operands of the output's type");
  const BroadcastRows rows(spec, 3);
  const auto bytes = static_cast<std::size_t>(model::element_bytes(y.dtype));
  add_own(list, spec, "where", [rows, bytes](const KernelOperands& operands) {
    std::byte* destination = operands.output(0);
    rows.for_each([&](const BroadcastRows::Row& row) {
      for (std::size_t item = 0; item < rows.row_length(); ++item) {
        const bool condition = operands.input(0)[row.at(0, item)] != std::byte{0};
        const std::size_t chosen = condition ? 1 : 2;
        std::memcpy(destination, operands.input(chosen) + row.at(chosen, item) * bytes, bytes);
        destination += bytes;
      }
    });
  });
}

}  // namespace plumb::onednn
