// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/exec/kernel_launch.hpp"

namespace plumb::cuda {

/// Layer as launches of built-in kernels. Its buffers are the layer's inputs, its outputs, then the
/// scratch buffers that launches pass to one another. An update has no outputs of its own: they
/// take the place of inputs. Launches run one after the other. It is a value and needs no device.
struct BuiltinLayer {
  std::vector<KernelLaunch> launches;
  std::vector<TensorLayout> inputs;          ///< how each operand lies
  std::vector<TensorLayout> outputs;         ///< how each result lies
  std::vector<model::TensorType> scratch{};  ///< the last buffers
};

/// Translates a layer into launches, with its activations in a layout. Throws Unsupported with the
/// reason if there is no kernel for it, or none for that layout.
[[nodiscard]] BuiltinLayer builtin_layer(const model::LayerSpec& spec, TensorLayout layout);

/// Returns whether builtin_layer() has a kernel for the operator and the layout. It may still
/// refuse a layer for another reason.
[[nodiscard]] bool has_builtin_kernel(std::string_view op, TensorLayout layout);

/// Operands of one layer, with their strides and buffers. The layer must outlive it.
class OwnOperands {
 public:
  OwnOperands(const model::LayerSpec& spec, TensorLayout layout);

  /// Returns an operand. Throws Unsupported if it is missing or not dense.
  [[nodiscard]] const model::TensorType& input(std::size_t index) const;
  [[nodiscard]] const model::TensorType& output(std::size_t index = 0) const;
  [[nodiscard]] Dimensions input_strides(std::size_t index) const;
  [[nodiscard]] Dimensions output_strides(std::size_t index = 0) const;
  [[nodiscard]] std::size_t input_buffer(std::size_t index) const { return index; }
  [[nodiscard]] std::size_t output_buffer(std::size_t index = 0) const {
    return spec_.inputs.size() + index;
  }
  [[nodiscard]] const model::LayerSpec& spec() const { return spec_; }
  [[nodiscard]] std::vector<TensorLayout> input_layouts() const;
  [[nodiscard]] std::vector<TensorLayout> output_layouts() const;

 private:
  [[nodiscard]] TensorLayout layout_of(const model::TensorType& type) const;

  const model::LayerSpec& spec_;
  TensorLayout layout_;
};

/// Function that returns the launches of one family of operators. Throws Unsupported.
using BuiltinFunction = std::vector<KernelLaunch> (*)(const OwnOperands& operands);

std::vector<KernelLaunch> map_eltwise(const OwnOperands& operands);
std::vector<KernelLaunch> map_binary(const OwnOperands& operands);
std::vector<KernelLaunch> map_many(const OwnOperands& operands);
std::vector<KernelLaunch> map_cast(const OwnOperands& operands);
std::vector<KernelLaunch> map_where(const OwnOperands& operands);
std::vector<KernelLaunch> map_batch_norm(const OwnOperands& operands);
std::vector<KernelLaunch> map_response(const OwnOperands& operands);
std::vector<KernelLaunch> move_concat(const OwnOperands& operands);
std::vector<KernelLaunch> move_split(const OwnOperands& operands);
std::vector<KernelLaunch> move_slice(const OwnOperands& operands);
std::vector<KernelLaunch> move_transpose(const OwnOperands& operands);
std::vector<KernelLaunch> move_expand(const OwnOperands& operands);
std::vector<KernelLaunch> move_tile(const OwnOperands& operands);
std::vector<KernelLaunch> move_view(const OwnOperands& operands);
std::vector<KernelLaunch> move_depth_to_space(const OwnOperands& operands);
std::vector<KernelLaunch> move_space_to_depth(const OwnOperands& operands);
std::vector<KernelLaunch> select_gather(const OwnOperands& operands);
std::vector<KernelLaunch> select_pad(const OwnOperands& operands);
std::vector<KernelLaunch> select_resize(const OwnOperands& operands);
std::vector<KernelLaunch> pool_windows(const OwnOperands& operands);
std::vector<KernelLaunch> map_quantize(const OwnOperands& operands);
std::vector<KernelLaunch> map_dequantize(const OwnOperands& operands);
std::vector<KernelLaunch> multiply_integers(const OwnOperands& operands);
std::vector<KernelLaunch> convolve_integers(const OwnOperands& operands);
std::vector<KernelLaunch> attend(const OwnOperands& operands);
std::vector<KernelLaunch> attend_backward(const OwnOperands& operands);
std::vector<KernelLaunch> map_eltwise_gradient(const OwnOperands& operands);
std::vector<KernelLaunch> row_softmax_gradient(const OwnOperands& operands);
std::vector<KernelLaunch> row_batch_norm_training(const OwnOperands& operands);
std::vector<KernelLaunch> row_batch_norm_gradient(const OwnOperands& operands);
std::vector<KernelLaunch> row_layer_norm_gradient(const OwnOperands& operands);
std::vector<KernelLaunch> pool_gradients(const OwnOperands& operands);
std::vector<KernelLaunch> gather_gradients(const OwnOperands& operands);
std::vector<KernelLaunch> update_tensors(const OwnOperands& operands);
std::vector<KernelLaunch> adapt_scale(const OwnOperands& operands);
std::vector<KernelLaunch> row_softmax(const OwnOperands& operands);
std::vector<KernelLaunch> row_layer_norm(const OwnOperands& operands);
std::vector<KernelLaunch> row_channel_norm(const OwnOperands& operands);
std::vector<KernelLaunch> row_reduce(const OwnOperands& operands);
std::vector<KernelLaunch> recur(const OwnOperands& operands);
std::vector<KernelLaunch> row_arg_reduce(const OwnOperands& operands);

/// Returns the types of the buffers that a recurrent layer's launches pass to one another. Throws
/// Unsupported.
[[nodiscard]] std::vector<model::TensorType> recurrent_scratch(const model::LayerSpec& spec);

/// Returns the types of the buffers that an update's launches pass to one another. Throws
/// Unsupported.
[[nodiscard]] std::vector<model::TensorType> update_scratch(const model::LayerSpec& spec);

/// Returns the types of the buffers that the launches of a loss scale pass to one another. Throws
/// Unsupported.
[[nodiscard]] std::vector<model::TensorType> loss_scale_scratch(const model::LayerSpec& spec);

/// Translates an update into launches for one tensor after the other. builtin_layer() has the same
/// launches for many tensors. Throws Unsupported.
[[nodiscard]] BuiltinLayer update_by_tensor(const model::LayerSpec& spec);

/// Returns the kernels' name for a function of layer keys (kernels/map.cuh).
[[nodiscard]] std::string function_name(const std::string& fn);

/// Operand of a move: its strides along the index space and the position of its first element.
struct MoveSide {
  Dimensions strides;
  std::int64_t start = 0;
  std::size_t buffer = 0;
};

/// Makes the launch that moves elements from one place to another, without interpreting them.
[[nodiscard]] KernelLaunch move_launch(model::DataType type,
                                       const Dimensions& extents,
                                       const MoveSide& to,
                                       const MoveSide& from);

/// Makes the launch that copies a tensor from one layout into another.
[[nodiscard]] KernelLaunch layout_change(const model::TensorType& type,
                                         TensorLayout from,
                                         TensorLayout to,
                                         std::size_t source,
                                         std::size_t result);

/// Partition of the axes of operands into those that count rows and those that make up one.
class RowParting {
 public:
  /// Takes the strides of each operand along all axes. `in_line` says which axes make up a row.
  RowParting(const Dimensions& extents,
             const std::vector<Dimensions>& strides,
             const std::vector<bool>& in_line);

  [[nodiscard]] kernels::RowShape shape() const;

 private:
  Dimensions row_extents_;
  Dimensions line_extents_;
  std::vector<Dimensions> row_strides_;
  std::vector<Dimensions> line_strides_;
};

/// Returns a mask in which the axes from `first` up to `end` make up a row.
[[nodiscard]] std::vector<bool> from_axis(std::size_t rank, std::size_t first, std::size_t end);

}  // namespace plumb::cuda
