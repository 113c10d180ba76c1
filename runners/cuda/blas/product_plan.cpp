// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/product_plan.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace plumb::cuda {

Factor factor(double value, model::DataType type) {
  if (type == model::DataType::kF64) {
    return value;
  }
  return type == model::DataType::kS32 ? Factor(static_cast<std::int32_t>(value))
                                       : Factor(static_cast<float>(value));
}

const void* address_of(const Factor& factor) {
  return std::visit([](const auto& value) -> const void* { return &value; }, factor);
}

ExecutionPlan begin_product_plan(const model::LayerSpec& spec,
                                 const GemmProblem& problem,
                                 const KernelStep& kernel) {
  constexpr TensorLayout kLayout = TensorLayout::kChannelsFirst;
  ExecutionPlan plan = begin_plan(spec,
                                  std::vector<TensorLayout>(spec.inputs.size(), kLayout),
                                  std::vector<TensorLayout>(spec.outputs.size(), kLayout));
  add_scratch_buffers(plan, problem.made);
  for (const BuiltinStep& step : problem.before) {
    const auto first = static_cast<std::ptrdiff_t>(plan.steps.size());
    append_builtin_steps(plan, {step}, kLayout, kernel);
    const bool constant =
        std::all_of(step.inputs.begin(), step.inputs.end(), [&](std::size_t input) {
          return plan.buffers[input].weight;
        });
    DeviceBuffer& made = plan.buffers.at(step.output);
    // What is made of constant operands alone is made when bound, outside the timed part.
    if (constant && made.role == DeviceBuffer::Role::kIntermediate) {
      made.weight = true;
      std::move(plan.steps.begin() + first, plan.steps.end(), std::back_inserter(plan.once));
      plan.steps.erase(plan.steps.begin() + first, plan.steps.end());
    }
  }
  return plan;
}

void append_product(
    ExecutionPlan& plan,
    const GemmProblem& problem,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel) {
  DeviceStep step;
  step.buffers = {{problem.a.buffer, problem.b.buffer}, {problem.d.buffer}};
  if (problem.c) {
    step.buffers.reads.push_back(problem.c->buffer);
  }
  if (problem.bias) {
    step.buffers.reads.push_back(*problem.bias);
  }
  if (problem.saved) {
    step.buffers.reads.push_back(problem.saved->buffer);
  }
  if (problem.bias_gradient) {
    step.buffers.writes.push_back(*problem.bias_gradient);
  }
  step.bind = std::move(bind);
  plan.steps.push_back(std::move(step));
  append_builtin_steps(plan, problem.behind, TensorLayout::kChannelsFirst, kernel);
}

std::string form_text(const GemmProblem& problem) {
  return std::string(problem.fast_accumulation ? ";accumulation=fast" : "") +
         (problem.before.empty() ? "" : ";operands=made") +
         (problem.behind.empty() ? "" : ";steps=apart");
}

}  // namespace plumb::cuda
