// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/recurrent_variants.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "runners/cuda/dnn/legacy/recurrent_execution.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/observe/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

ExecutionPlan built(const model::LayerSpec& spec,
                    const std::shared_ptr<const RecurrentExecution>& execution,
                    const RecurrentMemory& memory,
                    CudnnHandle& handle,
                    const KernelStep& kernel) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    execution->build(handle);
    const auto places = execution->places(handle, memory.weights);
    const RecurrentProblem& problem = execution->problem();
    const std::size_t space = spec.inputs.size() + spec.outputs.size() + problem.made.size();
    const auto bind = [execution, memory, space, &handle](
                          std::span<const abi::DevicePointer> buffers,
                          abi::DevicePointer workspace) {
      const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
      return DeviceLaunch([execution, memory, space, own, workspace, &handle](abi::Stream stream) {
        handle.use(stream);
        execution->run(handle, own, space, memory, abi::address_of(workspace));
      });
    };
    ExecutionPlan plan = recurrent_plan(
        spec,
        problem,
        [&](std::int64_t direction, std::int64_t piece) {
          return places.at(static_cast<std::size_t>(direction)).at(static_cast<std::size_t>(piece));
        },
        memory.weights,
        bind,
        kernel);
    plan.implementation = "cudnn-rnn";
    plan.workspace_bytes = memory.workspace;
    plan.creation = std::chrono::steady_clock::now() - begin;
    return plan;
  } catch (const CudnnRefusal& refusal) {
    throw Unsupported(fmt::format("cuDNN: {}", refusal.what()));
  }
}

}  // namespace

std::vector<VariantBuilder> recurrent_variants(const model::LayerSpec& spec,
                                               CudnnHandle& handle,
                                               const KernelStep& kernel) {
  const RecurrentProblem problem = recurrent_problem(spec);
  const bool adapted = !problem.before.empty() || !problem.behind.empty();
  std::vector<VariantBuilder> builders;
  std::string refusal;
  for (const auto& [name, algorithm] : kRecurrentAlgorithms) {
    try {
      const auto execution =
          std::make_shared<const RecurrentExecution>(handle.library(), problem, algorithm);
      const RecurrentMemory memory = execution->memory(handle);
      VariantBuilder builder;
      builder.text = fmt::format("impl=cudnn-rnn;algo={}{}", name, adapted ? ";operands=made" : "");
      builder.attributes = tensor_core_attributes({});
      builder.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
      builder.outputs.assign(spec.outputs.size(), TensorLayout::kChannelsFirst);
      builder.build = [spec, execution, memory, &handle, kernel] {
        return built(spec, execution, memory, handle, kernel);
      };
      builders.push_back(std::move(builder));
    } catch (const CudnnRefusal& words) {
      refusal = refusal.empty() ? fmt::format("cuDNN: {}", words.what()) : refusal;
    }
  }
  if (builders.empty()) {
    throw Unsupported(refusal);
  }
  return builders;
}

}  // namespace plumb::cuda
