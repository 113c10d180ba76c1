// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/builtin_step.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "runners/cuda/exec/scratch_tensor.hpp"
#include "runners/cuda/exec/variant_builder.hpp"

namespace plumb::cuda {

ExecutionPlan builtin_plan(const model::LayerSpec& spec,
                           const BuiltinLayer& layer,
                           const KernelStep& kernel) {
  ExecutionPlan plan = begin_plan(spec, layer.inputs, layer.outputs);
  plan.implementation = fmt::format("plumb:{}", spec.op);
  for (const model::TensorType& type : layer.scratch) {
    add_scratch(plan, {type});
  }
  append_launches(plan.steps, layer.launches, plan, kernel);
  return plan;
}

void append_builtin_steps(ExecutionPlan& plan,
                          const std::vector<BuiltinStep>& steps,
                          TensorLayout layout,
                          const KernelStep& kernel) {
  for (const BuiltinStep& step : steps) {
    std::vector<std::size_t> buffers = step.inputs;
    buffers.push_back(step.output);
    const BuiltinLayer layer = builtin_layer(step.spec, layout);
    PLUMB_CHECK(layer.scratch.empty());
    for (const KernelLaunch& launch : layer.launches) {
      plan.steps.push_back(kernel(launch, buffers));
    }
    const bool named = step.spec.op == "eltwise" || step.spec.op == "binary";
    plan.implementation += fmt::format("+plumb:{}", named ? step.spec.text("fn") : step.spec.op);
  }
}

std::vector<TensorLayout> input_layouts(const model::LayerSpec& layer,
                                        const std::vector<BuiltinStep>& steps,
                                        TensorLayout layout) {
  std::vector<TensorLayout> layouts(layer.inputs.size(), layout);
  for (const BuiltinStep& step : steps) {
    const std::vector<TensorLayout> wanted = builtin_layer(step.spec, layout).inputs;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < layouts.size()) {
        layouts[step.inputs[i]] = wanted.at(i);
      }
    }
  }
  return layouts;
}

}  // namespace plumb::cuda
