// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Layer as launches of built-in kernels. Its buffers are the layer's inputs, its outputs, then the
/// scratch buffers that launches pass to one another. An update has no outputs of its own: they
/// take the place of inputs. Launches run one after the other. It is a value and needs no device.
struct BuiltinLayer {
  /// Operands of one layer, with their strides and buffers. The layer must outlive it.
  class Operands {
   public:
    Operands(const model::LayerSpec& spec, TensorLayout layout);

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

  /// Work of a built-in kernel before or after a library's part of a layer. It is a layer of its
  /// own on buffers of the plan.
  struct Step {
    model::LayerSpec spec;
    std::vector<std::size_t> inputs;  ///< buffers of the plan
    std::size_t output = 0;           ///< of the plan; may be an input of functions of each element
  };

  /// Layer split into the part that its library executes and the steps that are left.
  struct Split {
    model::LayerSpec alone;    ///< without bias and fused steps
    std::vector<Step> behind;  ///< in place on the result
  };

  /// Operand of a move: its strides along the index space and the position of its first element.
  struct MoveSide {
    Dimensions strides;
    std::int64_t start = 0;
    std::size_t buffer = 0;
  };

  /// Partition of the axes of operands into those that count rows and those that make up one.
  class RowPartition {
   public:
    /// Takes the strides of each operand along all axes. `in_line` says which axes make up a row.
    RowPartition(const Dimensions& extents,
                 const std::vector<Dimensions>& strides,
                 const std::vector<bool>& in_line);

    [[nodiscard]] kernels::RowShape shape() const;

   private:
    Dimensions row_extents_;
    Dimensions line_extents_;
    std::vector<Dimensions> row_strides_;
    std::vector<Dimensions> line_strides_;
  };

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

/// Function that returns the launches of one family of operators. Throws Unsupported.
using BuiltinFunction = std::vector<KernelLaunch> (*)(const BuiltinLayer::Operands& operands);

std::vector<KernelLaunch> map_eltwise(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_binary(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_many(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_cast(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_where(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_batch_norm(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_response(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_concat(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_split(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_slice(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_transpose(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_expand(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_tile(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_view(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_depth_to_space(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> move_space_to_depth(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> select_gather(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> select_pad(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> select_resize(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> pool_windows(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_quantize(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_dequantize(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> multiply_integers(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> convolve_integers(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> attend(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> attend_backward(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> map_eltwise_gradient(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_softmax_gradient(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_batch_norm_training(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_batch_norm_gradient(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_layer_norm_gradient(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> pool_gradients(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> gather_gradients(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> update_tensors(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> adapt_scale(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_softmax(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_layer_norm(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_channel_norm(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_reduce(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> recur(const BuiltinLayer::Operands& operands);
std::vector<KernelLaunch> row_arg_reduce(const BuiltinLayer::Operands& operands);

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

/// Makes the launch that moves elements from one place to another, without interpreting them.
[[nodiscard]] KernelLaunch move_launch(model::DataType type,
                                       const Dimensions& extents,
                                       const BuiltinLayer::MoveSide& to,
                                       const BuiltinLayer::MoveSide& from);

/// Makes the launch that copies a tensor from one layout into another.
[[nodiscard]] KernelLaunch layout_change(const model::TensorType& type,
                                         TensorLayout from,
                                         TensorLayout to,
                                         std::size_t source,
                                         std::size_t result);

/// Returns a mask in which the axes from `first` up to `end` make up a row.
[[nodiscard]] std::vector<bool> from_axis(std::size_t rank, std::size_t first, std::size_t end);

/// Makes the plan of a layer by built-in kernels alone.
[[nodiscard]] ExecutionPlan builtin_plan(const model::LayerSpec& spec,
                                         const BuiltinLayer& layer,
                                         const KernelStep& kernel);

/// Appends steps to a plan. Their activations lie in `layout`. Throws Unsupported if there is no
/// built-in kernel for one.
void append_builtin_steps(ExecutionPlan& plan,
                          const std::vector<BuiltinLayer::Step>& steps,
                          TensorLayout layout,
                          const KernelStep& kernel);

/// Returns the layout that each of a layer's operands must have for its steps. An operand that no
/// step reads has `layout`.
[[nodiscard]] std::vector<TensorLayout> input_layouts(const model::LayerSpec& layer,
                                                      const std::vector<BuiltinLayer::Step>& steps,
                                                      TensorLayout layout);

/// Splits a convolution or product with bias or fused steps, or with a bias gradient beside it.
/// Buffers are the layer's operands, then its results. Throws Unsupported if an operand is missing.
[[nodiscard]] BuiltinLayer::Split split_layer(const model::LayerSpec& spec);

}  // namespace plumb::cuda
