// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Work of a built-in kernel before or after a library's part of a layer. It is a layer of its own
/// on buffers of the plan.
struct BuiltinStep {
  model::LayerSpec spec;
  std::vector<std::size_t> inputs;  ///< buffers of the plan
  std::size_t output = 0;           ///< of the plan; may be an input of functions of each element
};

/// Makes the plan of a layer by built-in kernels alone.
[[nodiscard]] ExecutionPlan builtin_plan(const model::LayerSpec& spec,
                                         const BuiltinLayer& layer,
                                         const KernelStep& kernel);

/// Appends steps to a plan. Their activations lie in `layout`. Throws Unsupported if there is no
/// built-in kernel for one.
void append_builtin_steps(ExecutionPlan& plan,
                          const std::vector<BuiltinStep>& steps,
                          TensorLayout layout,
                          const KernelStep& kernel);

/// Returns the layout that each of a layer's operands must have for its steps. An operand that no
/// step reads has `layout`.
[[nodiscard]] std::vector<TensorLayout> input_layouts(const model::LayerSpec& layer,
                                                      const std::vector<BuiltinStep>& steps,
                                                      TensorLayout layout);

/// Layer split into the part that its library executes and the steps that are left.
struct SplitLayer {
  model::LayerSpec alone;           ///< without bias and fused steps
  std::vector<BuiltinStep> behind;  ///< in place on the result
};

/// Splits a convolution or product with bias or fused steps, or with a bias gradient beside it.
/// Buffers are the layer's operands, then its results. Throws Unsupported if an operand is missing.
[[nodiscard]] SplitLayer split_layer(const model::LayerSpec& spec);

}  // namespace plumb::cuda
