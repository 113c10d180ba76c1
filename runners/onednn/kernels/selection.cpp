// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// Rows along one axis of an operand that an operand of indices selects.
struct SelectedRows {
  std::int64_t outer = 1;   ///< product of the extents before the axis
  std::int64_t extent = 0;  ///< of the axis
  std::int64_t count = 0;   ///< of the indices
  std::size_t length = 1;   ///< elements of a row: product of the extents behind the axis
  bool wide = true;         ///< indices are s64, not s32

  /// Calls visit(row) for each index, for each place before the axis: batch by batch.
  template <typename Visit>
  void for_each(const std::byte* indices, const Visit& visit) const {
    wide ? walk<std::int64_t>(indices, visit) : walk<std::int32_t>(indices, visit);
  }

 private:
  template <typename Index, typename Visit>
  void walk(const std::byte* indices, const Visit& visit) const {
    for (std::int64_t batch = 0; batch < outer; ++batch) {
      for (std::int64_t item = 0; item < count; ++item) {
        Index index = 0;
        std::memcpy(&index, indices + static_cast<std::size_t>(item) * sizeof index, sizeof index);
        // Negative indices count from the end. An index out of range must not reach beyond the
        // operand.
        const std::int64_t wrapped = index < 0 ? index + extent : index;
        visit(static_cast<std::size_t>(batch * extent +
                                       std::clamp<std::int64_t>(wrapped, 0, extent - 1)));
      }
    }
  }
};

/// Returns the rows of `x` that the second operand selects along the axis of the specification,
/// which must be in range.
SelectedRows selected_rows(const model::LayerSpec& spec, const model::TensorType& x) {
  const model::TensorType& indices = *spec.inputs[1];
  require(indices.dtype == model::DataType::kS64 || indices.dtype == model::DataType::kS32,
          spec,
          "indices must be s32 or s64");
  const auto axis = x.dims.begin() + spec.integer("axis");
  SelectedRows rows{.extent = *axis,
                    .count = element_count(indices),
                    .wide = indices.dtype == model::DataType::kS64};
  require(rows.extent > 0 || rows.count == 0, spec, "there are no elements to index");
  for (auto dim = x.dims.begin(); dim != axis; ++dim) {
    rows.outer *= *dim;
  }
  for (auto dim = axis + 1; dim != x.dims.end(); ++dim) {
    rows.length *= static_cast<std::size_t>(*dim);
  }
  return rows;
}

}  // namespace

void gather_rows(const model::LayerSpec& spec,
                 const Device& /*device*/,
                 VariantBuilder::List& list) {
  require_operands(spec, 2);
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& indices = *spec.inputs[1];
  const std::int64_t axis = spec.integer("axis");
  require(axis >= 0 && axis < static_cast<std::int64_t>(x.dims.size()),
          spec,
          "the axis is out of range");
  const auto middle = x.dims.begin() + axis;
  std::vector<std::int64_t> expected(x.dims.begin(), middle);
  expected.insert(expected.end(), indices.dims.begin(), indices.dims.end());
  expected.insert(expected.end(), middle + 1, x.dims.end());
  require(expected == spec.outputs[0].dims && x.dtype == spec.outputs[0].dtype,
          spec,
          "the output does not follow from data and indices");
  const SelectedRows rows = selected_rows(spec, x);
  const std::size_t block = rows.length * static_cast<std::size_t>(model::element_bytes(x.dtype));
  add_own(list, spec, "gather", [rows, block](const KernelOperands& operands) {
    std::byte* to = operands.output(0);
    rows.for_each(operands.input(1), [&](std::size_t row) {
      std::memcpy(to, operands.input(0) + row * block, block);
      to += block;
    });
  });
}

void add_rows(const model::LayerSpec& spec, const Device& /*device*/, VariantBuilder::List& list) {
  require_operands(spec, 2);
  const model::TensorType& x = spec.outputs[0];
  require(x.dtype == model::DataType::kF32 && spec.inputs[0]->dtype == model::DataType::kF32,
          spec,
          "rows are added in f32");
  const SelectedRows rows = selected_rows(spec, x);  // its axis is in range: check_spec() says so
  // Each row of the gradient is added to the row of the result that it was read from.
  add_own(list, spec, "scatter_add", [rows](const KernelOperands& operands) {
    auto* const result = static_cast<float*>(static_cast<void*>(operands.output(0)));
    const auto* from = static_cast<const float*>(static_cast<const void*>(operands.input(0)));
    std::fill_n(result, static_cast<std::size_t>(rows.outer * rows.extent) * rows.length, 0.0F);
    rows.for_each(operands.input(1), [&](std::size_t row) {
      float* const to = result + row * rows.length;
      for (std::size_t i = 0; i < rows.length; ++i) {
        to[i] += *from++;
      }
    });
  });
}

void select_where(const model::LayerSpec& spec,
                  const Device& /*device*/,
                  VariantBuilder::List& list) {
  require_operands(spec, 3);
  const model::TensorType& y = spec.outputs[0];
  require(spec.inputs[0]->dtype == model::DataType::kBool && spec.inputs[1]->dtype == y.dtype &&
              spec.inputs[2]->dtype == y.dtype && model::element_bytes(y.dtype) > 0,
          spec,
          "needs a bool condition and operands of the output's type");
  const KernelOperands::Rows rows(spec, 3);
  const auto bytes = static_cast<std::size_t>(model::element_bytes(y.dtype));
  add_own(list, spec, "where", [rows, bytes](const KernelOperands& operands) {
    std::byte* destination = operands.output(0);
    rows.for_each([&](const KernelOperands::Rows::Row& row) {
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
