// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/graph_offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "harness/results/engine_promise.hpp"
#include "runners/cuda/engine_search.hpp"
#include "runners/cuda/index_space.hpp"
#include "runners/cuda/operation_graph.hpp"

namespace plumb::cuda {
namespace {

using abi::Attribute;
using abi::DescriptorType;

/// Is a graph in both forms; a configuration of it lives no longer.
struct AskedGraph {
  GraphForm form;
  OperationGraph operations;
};

/// Is what a bound step executes.
struct BoundPlan {
  std::shared_ptr<const Descriptor> plan;
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

/// Lists the tensors that lie in memory as (id, buffer of the plan).
std::vector<std::pair<std::int64_t, std::size_t>> places_of(const TensorGraph& graph,
                                                            std::size_t result_buffer) {
  std::vector<std::pair<std::int64_t, std::size_t>> places;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!graph.tensors[i].is_virtual) {
      places.emplace_back(static_cast<std::int64_t>(i) + 1,
                          graph.tensors[i].operand.value_or(result_buffer));
    }
  }
  return places;
}

DevicePlan built(const LayerSpec& spec,
                 const std::shared_ptr<const AskedGraph>& asked,
                 const FoundEngine& engine,
                 CudnnHandle& handle,
                 const KernelStep& kernel) {
  const auto begin = std::chrono::steady_clock::now();
  const GraphForm& form = asked->form;
  DevicePlan result =
      begin_plan(spec, form.inputs, std::vector<TensorLayout>(spec.outputs.size(), form.result));
  result.implementation = fmt::format("cudnn:{}", engine.facts.engine);
  try {
    const auto plan = std::make_shared<const Descriptor>(
        execution_plan(handle.library(), engine.configuration, {nullptr, handle.get()}));
    const std::int64_t workspace = plan->integer(Attribute::kPlanWorkspace);
    result.workspace_bytes = static_cast<std::size_t>(std::max<std::int64_t>(workspace, 0));
    const auto places = places_of(form.graph, spec.inputs.size());
    DeviceStep step;
    for (const auto& [id, buffer] : places) {
      if (buffer != spec.inputs.size()) {
        step.buffers.push_back(buffer);
      }
    }
    step.buffers.push_back(spec.inputs.size());
    step.bind = [plan, asked, places, &handle](std::span<const abi::DevicePointer> buffers,
                                               abi::DevicePointer workspace_address) {
      std::vector<std::int64_t> ids;
      std::vector<void*> addresses;
      for (const auto& [id, buffer] : places) {
        ids.push_back(id);
        addresses.push_back(abi::address_of(buffers[buffer]));
      }
      const auto bound = std::make_shared<const BoundPlan>(BoundPlan{
          plan,
          variant_pack(handle.library(), ids, addresses, abi::address_of(workspace_address))});
      return DeviceLaunch([bound, &handle](abi::Stream stream) {
        handle.execute(bound->plan->get(), bound->pack.get(), stream);
      });
    };
    result.steps.push_back(std::move(step));
  } catch (const CudnnRefusal& refusal) {
    throw Unsupported(fmt::format("cuDNN: {}", refusal.what()));
  }
  append_behind(result, form.behind, form.result, kernel);
  result.creation = std::chrono::steady_clock::now() - begin;
  return result;
}

}  // namespace

std::vector<DeviceOffer> graph_offers(const LayerSpec& spec,
                                      GraphForm form,
                                      CudnnHandle& handle,
                                      const KernelStep& kernel) {
  OperationGraph operations = operation_graph(handle.library(), form.graph, handle.get());
  const auto asked =
      std::make_shared<const AskedGraph>(AskedGraph{std::move(form), std::move(operations)});
  std::vector<DeviceOffer> offers;
  for (FoundEngine& engine :
       find_engines(handle.library(), asked->operations, EngineTarget{nullptr, handle.get()})) {
    if (!keeps_promise(spec, engine.facts)) {
      continue;
    }
    DeviceOffer offer;
    offer.text = fmt::format("impl=cudnn;{};{}", asked->form.text, engine_text(engine.facts));
    offer.inputs = asked->form.inputs;
    offer.outputs.assign(spec.outputs.size(), asked->form.result);
    offer.build =
        [&handle, spec, asked, kernel, found = std::make_shared<FoundEngine>(std::move(engine))] {
          return built(spec, asked, *found, handle, kernel);
        };
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace plumb::cuda
