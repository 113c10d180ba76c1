// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/graph_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/engine_search.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

using Attribute = abi::CudnnCalls::Attribute;
using DescriptorType = abi::CudnnCalls::DescriptorType;

/// Graph in Plumbline's form and in cuDNN's. No configuration of the graph outlives it.
struct AskedGraph {
  GraphForm form;
  OperationGraph operations;
};

/// Execution plan and variant pack that a bound step executes.
struct BoundPlan {
  std::shared_ptr<const Descriptor> plan;
  std::shared_ptr<const AskedGraph> asked;  // holds the numbers that the host gives
  Descriptor pack;
};

Descriptor variant_pack(const CudnnLibrary& library,
                        const std::vector<std::int64_t>& ids,
                        const std::vector<void*>& addresses,
                        void* workspace) {
  Descriptor pack(library, DescriptorType::kVariantPack);
  pack.set(Attribute::kPackIds, ids);
  pack.set_pointers(Attribute::kPackPointers, addresses);
  pack.set_pointers(Attribute::kPackWorkspace, std::span(&workspace, 1));
  pack.finish("the operands of a plan");
  return pack;
}

/// Returns the variant pack that gives a plan its tensors in memory and the graph's numbers.
/// `buffers` are the layer's operands, then its results, then the plan's intermediate buffers.
Descriptor bound_operands(const CudnnLibrary& library,
                          const TensorGraph& graph,
                          std::span<const abi::DevicePointer> buffers,
                          std::size_t result_buffer,
                          abi::DevicePointer workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[i];
    if (tensor.is_virtual) {
      continue;
    }
    ids.push_back(static_cast<std::int64_t>(i) + 1);
    // cuDNN only reads the number, but its interface takes all addresses as mutable.
    const std::size_t buffer = tensor.operand.value_or(result_buffer + tensor.result);
    addresses.push_back(tensor.value ? const_cast<float*>(&*tensor.value)
                                     : abi::address_of(buffers[buffer]));
  }
  return variant_pack(library, ids, addresses, abi::address_of(workspace));
}

ExecutionPlan built(const model::LayerSpec& spec,
                    const std::shared_ptr<const AskedGraph>& asked,
                    const FoundEngine& engine,
                    CudnnHandle& handle,
                    const KernelStep& kernel) {
  const auto begin = std::chrono::steady_clock::now();
  const GraphForm& form = asked->form;
  ExecutionPlan result =
      begin_plan(spec, form.inputs, std::vector<TensorLayout>(spec.outputs.size(), form.result));
  add_scratch_buffers(result, form.made);
  append_builtin_steps(result, form.before, form.result, kernel);
  result.implementation = fmt::format("cudnn:{}{}", engine.facts.engine, result.implementation);
  try {
    const auto plan = std::make_shared<const Descriptor>(
        execution_plan(handle.library(), engine.configuration, {nullptr, handle.get()}));
    const std::int64_t workspace = plan->integer(Attribute::kPlanWorkspace);
    result.workspace_bytes = static_cast<std::size_t>(std::max<std::int64_t>(workspace, 0));
    add_plan(result.attributes, *plan);
    const std::size_t result_buffer = spec.inputs.size();
    DeviceStep step;
    for (const GraphTensor& tensor : form.graph.tensors) {
      if (tensor.operand) {
        step.buffers.reads.push_back(*tensor.operand);
      }
    }
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
      step.buffers.writes.push_back(result_buffer + i);
    }
    step.bind = [plan, asked, result_buffer, &handle](std::span<const abi::DevicePointer> buffers,
                                                      abi::DevicePointer workspace_address) {
      const auto bound = std::make_shared<const BoundPlan>(BoundPlan{
          plan,
          asked,
          bound_operands(
              handle.library(), asked->form.graph, buffers, result_buffer, workspace_address)});
      return DeviceLaunch([bound, &handle](abi::Stream stream) {
        handle.execute(bound->plan->get(), bound->pack.get(), stream);
      });
    };
    result.steps.push_back(std::move(step));
  } catch (const CudnnRefusal& refusal) {
    throw Unsupported(fmt::format("cuDNN: {}", refusal.what()));
  }
  append_builtin_steps(result, form.behind, form.result, kernel);
  result.creation = std::chrono::steady_clock::now() - begin;
  return result;
}

}  // namespace

std::vector<VariantBuilder> graph_variants(const model::LayerSpec& spec,
                                           GraphForm form,
                                           CudnnHandle& handle,
                                           const KernelStep& kernel) {
  OperationGraph operations = operation_graph(handle.library(), form.graph, handle.get());
  const auto asked =
      std::make_shared<const AskedGraph>(AskedGraph{std::move(form), std::move(operations)});
  std::vector<VariantBuilder> builders;
  for (FoundEngine& engine :
       find_engines(handle.library(), asked->operations, EngineTarget{nullptr, handle.get()})) {
    if (!results::keeps_promise(spec, engine.facts)) {
      continue;
    }
    VariantBuilder builder;
    builder.text = fmt::format("impl=cudnn;{};{}", asked->form.text, engine_text(engine.facts));
    builder.attributes = engine_attributes(engine.facts);
    builder.inputs = asked->form.inputs;
    builder.outputs.assign(spec.outputs.size(), asked->form.result);
    builder.build =
        [&handle, spec, asked, kernel, found = std::make_shared<FoundEngine>(std::move(engine))] {
          return built(spec, asked, *found, handle, kernel);
        };
    builders.push_back(std::move(builder));
  }
  return builders;
}

}  // namespace plumb::cuda
