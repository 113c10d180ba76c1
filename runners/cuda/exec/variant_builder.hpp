// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/attributes.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Variant of a layer on the GPU, not built yet.
struct VariantBuilder {
  std::string text;  ///< "impl=cudnn;layout=NHWC;engine=41;TILE_SIZE=5": unique for the layer
  std::vector<TensorLayout> inputs;   ///< how it wants each operand
  std::vector<TensorLayout> outputs;  ///< how it leaves each result
  /// Makes the plan. Its buffers are the layer's inputs, then its outputs, then what it needs in
  /// between. Throws Unsupported with the library's message.
  std::function<ExecutionPlan()> build;
  results::Attributes attributes{};  ///< that are known before the plan is made
};

/// Begins a plan with the buffers of a layer's operands and results, in these layouts. Results of
/// an update are those of its operands whose place they take.
[[nodiscard]] ExecutionPlan begin_plan(const model::LayerSpec& spec,
                                       const std::vector<TensorLayout>& inputs,
                                       const std::vector<TensorLayout>& outputs);

/// Adds buffers to a plan for what its steps make for one another.
void add_scratch_buffers(ExecutionPlan& plan, const std::vector<model::TensorType>& types);

}  // namespace plumb::cuda
