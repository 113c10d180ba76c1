// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/builtin_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumb::cuda {
namespace {

struct Row {
  std::string_view op;
  BuiltinFunction write;
  bool any_layout;     ///< takes any layout of activations; else only channels first
  bool fuses = false;  ///< also executes fused steps
  std::vector<model::TensorType> (*scratch)(const model::LayerSpec&) =
      nullptr;  ///< null: it needs none
};

constexpr std::array kRows = std::to_array<Row>({
    {"adam", update_tensors, false, false, update_scratch},
    {"arg_reduce", row_arg_reduce, false},
    {"attention", attend, false},
    {"attention_backward", attend_backward, false},
    {"average_pool", pool_windows, true},
    {"average_pool_backward", pool_gradients, true},
    {"batch_norm", map_batch_norm, true},
    {"batch_norm_backward", row_batch_norm_gradient, true},
    {"batch_norm_training", row_batch_norm_training, true, true},
    {"binary", map_binary, true},
    {"cast", map_cast, true},
    {"concat", move_concat, true},
    {"conv_integer", convolve_integers, true, true},
    {"depth_to_space", move_depth_to_space, true},
    {"dequantize", map_dequantize, true},
    {"eltwise", map_eltwise, true},
    {"eltwise_backward", map_eltwise_gradient, true},
    {"expand", move_expand, false},
    {"gather", select_gather, false},
    {"gather_backward", gather_gradients, false},
    {"group_norm", row_channel_norm, true},
    {"gru", recur, false, false, recurrent_scratch},
    {"instance_norm", row_channel_norm, true},
    {"lamb", update_tensors, false, false, update_scratch},
    {"layer_norm", row_layer_norm, false},
    {"layer_norm_backward", row_layer_norm_gradient, false},
    {"loss_scale", adapt_scale, false, false, loss_scale_scratch},
    {"lp_pool", pool_windows, true},
    {"lrn", map_response, true},
    {"lstm", recur, false, false, recurrent_scratch},
    {"matmul_integer", multiply_integers, false, true},
    {"max", map_many, true},
    {"max_pool", pool_windows, true},
    {"max_pool_backward", pool_gradients, true},
    {"min", map_many, true},
    {"pad", select_pad, true},
    {"prelu", map_binary, true},
    {"quantize", map_quantize, true},
    {"reduce", row_reduce, true},
    {"resize", select_resize, true},
    {"rms_norm", row_layer_norm, false},
    {"rnn", recur, false, false, recurrent_scratch},
    {"sgd", update_tensors, false, false, update_scratch},
    {"slice", move_slice, true},
    {"softmax", row_softmax, false},
    {"softmax_backward", row_softmax_gradient, false},
    {"space_to_depth", move_space_to_depth, true},
    {"split", move_split, true},
    {"sum", map_many, true},
    {"tile", move_tile, false},
    {"transpose", move_transpose, false},
    {"view", move_view, false},
    {"where", map_where, true},
});

const Row* find_row(std::string_view op) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.op == op; });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

OwnOperands::OwnOperands(const model::LayerSpec& spec, TensorLayout layout)
    : spec_(spec), layout_(layout) {}

const model::TensorType& OwnOperands::input(std::size_t index) const {
  if (!spec_.has_input(index)) {
    throw Unsupported(fmt::format("operand {} is missing", index));
  }
  if (!spec_.inputs[index]->strides.empty()) {
    throw Unsupported(fmt::format("operand {} is not dense", index));
  }
  return *spec_.inputs[index];
}

const model::TensorType& OwnOperands::output(std::size_t index) const {
  return spec_.outputs.at(index);
}

/// Returns the layout of an operand or result. An activation has the result's rank, of three axes
/// or more, and is not constant. All else is a parameter, and dense.
TensorLayout OwnOperands::layout_of(const model::TensorType& type) const {
  const model::TensorType& y = spec_.outputs.at(0);
  const bool activation = !type.constant && type.dims.size() == y.dims.size() &&
                          type.dims.size() >= 3 && element_count(type) > 1;
  return activation ? layout_ : TensorLayout::kChannelsFirst;
}

Dimensions OwnOperands::input_strides(std::size_t index) const {
  return compute_strides(input(index).dims, layout_of(input(index)));
}

Dimensions OwnOperands::output_strides(std::size_t index) const {
  return compute_strides(output(index).dims, layout_of(output(index)));
}

std::vector<TensorLayout> OwnOperands::input_layouts() const {
  std::vector<TensorLayout> layouts;
  for (const auto& operand : spec_.inputs) {
    layouts.push_back(operand ? layout_of(*operand) : TensorLayout::kChannelsFirst);
  }
  return layouts;
}

std::vector<TensorLayout> OwnOperands::output_layouts() const {
  std::vector<TensorLayout> layouts;
  for (const model::TensorType& result : spec_.outputs) {
    layouts.push_back(layout_of(result));
  }
  return layouts;
}

bool has_builtin_kernel(std::string_view op, TensorLayout layout) {
  const Row* const row = find_row(op);
  return row != nullptr && (row->any_layout || layout == TensorLayout::kChannelsFirst);
}

BuiltinLayer builtin_layer(const model::LayerSpec& spec, TensorLayout layout) {
  if (!has_builtin_kernel(spec.op, layout)) {
    throw Unsupported(
        fmt::format("there is no built-in kernel for '{}' in {}", spec.op, to_text(layout)));
  }
  const Row& row = *find_row(spec.op);
  if (!spec.epilogue.empty() && !row.fuses) {
    throw Unsupported(fmt::format("'{}' with fused steps behind it", spec.op));
  }
  const OwnOperands operands(spec, layout);
  return {row.write(operands),
          operands.input_layouts(),
          operands.output_layouts(),
          row.scratch == nullptr ? std::vector<model::TensorType>{} : row.scratch(spec)};
}

RowParting::RowParting(const Dimensions& extents,
                       const std::vector<Dimensions>& strides,
                       const std::vector<bool>& in_line)
    : row_strides_(strides.size()), line_strides_(strides.size()) {
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    (in_line[axis] ? line_extents_ : row_extents_).push_back(extents[axis]);
    for (std::size_t operand = 0; operand < strides.size(); ++operand) {
      (in_line[axis] ? line_strides_ : row_strides_)[operand].push_back(strides[operand][axis]);
    }
  }
}

kernels::RowShape RowParting::shape() const {
  kernels::RowShape shape{};
  shape.rows = joined_space(row_extents_, row_strides_);
  shape.line = joined_space(line_extents_, line_strides_);
  return shape;
}

std::vector<bool> from_axis(std::size_t rank, std::size_t first, std::size_t end) {
  std::vector<bool> in_line(rank, false);
  for (std::size_t axis = first; axis < std::min(end, rank); ++axis) {
    in_line[axis] = true;
  }
  return in_line;
}

}  // namespace plumb::cuda
