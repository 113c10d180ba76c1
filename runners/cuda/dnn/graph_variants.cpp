// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/graph_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/engine_search.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

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
    const TensorGraph::Tensor& tensor = graph.tensors[i];
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
                    const EngineTarget::Engine& engine,
                    CudnnLibrary::Handle& handle,
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
    for (const TensorGraph::Tensor& tensor : form.graph.tensors) {
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
  } catch (const CudnnLibrary::Refusal& refusal) {
    throw Unsupported(fmt::format("cuDNN: {}", refusal.what()));
  }
  append_builtin_steps(result, form.behind, form.result, kernel);
  result.creation = std::chrono::steady_clock::now() - begin;
  return result;
}

}  // namespace

std::vector<VariantBuilder> graph_variants(const model::LayerSpec& spec,
                                           GraphForm form,
                                           CudnnLibrary::Handle& handle,
                                           const KernelStep& kernel) {
  OperationGraph operations = operation_graph(handle.library(), form.graph, handle.get());
  const auto asked =
      std::make_shared<const AskedGraph>(AskedGraph{std::move(form), std::move(operations)});
  std::vector<VariantBuilder> builders;
  for (EngineTarget::Engine& engine :
       find_engines(handle.library(), asked->operations, EngineTarget{nullptr, handle.get()})) {
    if (!results::keeps_promise(spec, engine.facts)) {
      continue;
    }
    VariantBuilder builder;
    builder.text = fmt::format("impl=cudnn;{};{}", asked->form.text, engine_text(engine.facts));
    builder.attributes = engine_attributes(engine.facts);
    builder.inputs = asked->form.inputs;
    builder.outputs.assign(spec.outputs.size(), asked->form.result);
    builder.build = [&handle,
                     spec,
                     asked,
                     kernel,
                     found = std::make_shared<EngineTarget::Engine>(std::move(engine))] {
      return built(spec, asked, *found, handle, kernel);
    };
    builders.push_back(std::move(builder));
  }
  return builders;
}

namespace {

// Operands of both gradients.
enum Operand : std::size_t { kGradient, kData, kScale, kMean, kVariance };

/// Builder of the graph of one form.
class Builder {
 public:
  explicit Builder(const model::LayerSpec& spec) : spec_(spec) {}

  std::size_t operand(std::size_t index, Dimensions extents, TensorLayout layout) {
    const std::size_t added = add(spec_.inputs.at(index).value(), std::move(extents), layout);
    graph_.tensors[added].operand = index;
    return added;
  }

  std::size_t result(std::size_t index, Dimensions extents, TensorLayout layout) {
    const std::size_t added = add(spec_.outputs.at(index), std::move(extents), layout);
    graph_.tensors[added].result = index;
    return added;
  }

  std::size_t number(double value) {
    TensorGraph::Tensor& tensor = graph_.tensors.emplace_back();
    tensor.dimensions = {1, 1, 1, 1};
    tensor.strides = {1, 1, 1, 1};
    tensor.value = static_cast<float>(value);
    return graph_.tensors.size() - 1;
  }

  /// Adds the tensor that an earlier step makes, in the plan's first buffer after the layer's own.
  std::size_t made(const Dimensions& extents) {
    const std::size_t added =
        add({model::DataType::kF32, extents, false, {}}, extents, TensorLayout::kChannelsFirst);
    graph_.tensors[added].operand = spec_.inputs.size() + spec_.outputs.size();
    return added;
  }

  TensorGraph finished(TensorGraph::Operation operation) {
    graph_.operations.push_back(std::move(operation));
    return std::move(graph_);
  }

 private:
  std::size_t add(const model::TensorType& type, Dimensions extents, TensorLayout layout) {
    if (!type.strides.empty()) {
      throw Unsupported("an operand that is not dense");
    }
    TensorGraph::Tensor& tensor = graph_.tensors.emplace_back();
    tensor.type = cudnn_type(type.dtype);
    tensor.strides = compute_strides(extents, layout);
    tensor.dimensions = std::move(extents);
    return graph_.tensors.size() - 1;
  }

  const model::LayerSpec& spec_;
  TensorGraph graph_;
};

/// Joins the axes before `axis`, and those from it on. What is normalised stands as channels.
Dimensions rows_and_columns(const model::TensorType& x, std::int64_t axis) {
  Dimensions joined{1, 1, 1, 1};
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    joined[static_cast<std::int64_t>(i) < axis ? 0 : 1] *= x.dims[i];
  }
  return joined;
}

/// Pads an activation's extents to the four or five axes that cuDNN's channel normalisation takes.
Dimensions activation_extents(const model::TensorType& x) {
  Dimensions extents = x.dims;
  if (extents.size() < 2 || extents.size() > 5) {
    throw Unsupported(fmt::format("a normalisation over channels of {} axes", extents.size()));
  }
  if (extents.size() == 3) {
    extents.insert(extents.begin() + 2, 1);
  }
  extents.resize(std::max<std::size_t>(extents.size(), 4), 1);
  return extents;
}

/// Returns the step that makes 1 ÷ √(variance + ε), which cuDNN takes, of the layer's variance.
BuiltinLayer::Step inverse_deviation(const model::LayerSpec& spec, model::TensorType made) {
  const model::TensorType& variance = spec.inputs.at(kVariance).value();
  if (variance.dtype != model::DataType::kF32 ||
      spec.inputs.at(kMean)->dtype != model::DataType::kF32) {
    throw Unsupported("mean and variance of another type than f32");
  }
  BuiltinLayer::Step step{{}, {kVariance}, spec.inputs.size() + spec.outputs.size()};
  step.spec.op = "eltwise";
  step.spec.accumulate = spec.accumulate;
  step.spec.inputs = {variance};
  step.spec.outputs = {std::move(made)};
  step.spec.attributes = {{"fn", std::string("inverse_deviation")},
                          {"parameters", std::vector<double>{spec.real("epsilon")}}};
  return step;
}

GraphForm gradient_form(const model::LayerSpec& spec,
                        abi::CudnnCalls::NormMode mode,
                        const Dimensions& data,
                        const Dimensions& statistics,
                        const Dimensions& parameters,
                        TensorLayout layout) {
  Builder builder(spec);
  TensorGraph::NormGradient operation;
  operation.mode = mode;
  operation.gradient = builder.operand(kGradient, data, layout);
  operation.input = builder.operand(kData, data, layout);
  operation.scale = builder.operand(kScale, parameters, TensorLayout::kChannelsFirst);
  operation.mean = builder.operand(kMean, statistics, TensorLayout::kChannelsFirst);
  operation.inverse_deviation = builder.made(statistics);
  operation.output = builder.result(0, data, layout);
  operation.scale_gradient = builder.result(1, parameters, TensorLayout::kChannelsFirst);
  operation.bias_gradient = builder.result(2, parameters, TensorLayout::kChannelsFirst);
  GraphForm form;
  form.text = fmt::format("graph=norm_backward;layout={};operands=made", to_text(layout));
  form.graph = builder.finished(operation);
  form.made = {spec.inputs.at(kVariance).value()};
  form.made[0].constant = false;
  form.before = {inverse_deviation(spec, form.made[0])};
  form.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
  form.inputs[kGradient] = form.inputs[kData] = layout;
  form.result = layout;
  return form;
}

std::vector<GraphForm> batch_gradients(const model::LayerSpec& spec) {
  const model::TensorType& x = spec.inputs.at(kData).value();
  const Dimensions data = activation_extents(x);
  Dimensions each(data.size(), 1);
  each[1] = data[1];
  std::vector<GraphForm> forms;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    if (layout == TensorLayout::kChannelsFirst || x.dims.size() > 2) {
      forms.push_back(
          gradient_form(spec, abi::CudnnCalls::NormMode::kBatch, data, each, each, layout));
    }
  }
  return forms;
}

std::vector<GraphForm> layer_gradients(const model::LayerSpec& spec) {
  const Dimensions data = rows_and_columns(spec.inputs.at(kData).value(), spec.integer("axis"));
  return {gradient_form(spec,
                        abi::CudnnCalls::NormMode::kLayer,
                        data,
                        {data[0], 1, 1, 1},
                        {1, data[1], 1, 1},
                        TensorLayout::kChannelsFirst)};
}

std::vector<GraphForm> layer_norms(const model::LayerSpec& spec) {
  constexpr TensorLayout kPlain = TensorLayout::kChannelsFirst;
  constexpr std::size_t kBias = 2;
  if (!spec.has_input(kBias)) {
    throw Unsupported("cuDNN is not used for a layer normalisation without bias");
  }
  const Dimensions data = rows_and_columns(spec.inputs.at(0).value(), spec.integer("axis"));
  const Dimensions each{1, data[1], 1, 1};
  Builder builder(spec);
  TensorGraph::Norm operation;
  operation.input = builder.operand(0, data, kPlain);
  operation.scale = builder.operand(1, each, kPlain);
  operation.bias = builder.operand(kBias, each, kPlain);
  operation.epsilon = builder.number(spec.real("epsilon"));
  operation.output = builder.result(0, data, kPlain);
  GraphForm form;
  form.text = "graph=norm";
  form.graph = builder.finished(operation);
  form.inputs.assign(spec.inputs.size(), kPlain);
  return {std::move(form)};
}

}  // namespace

std::vector<GraphForm> norm_forms(const model::LayerSpec& spec) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("fused steps behind a normalisation");
  }
  if (spec.op == "layer_norm") {
    return layer_norms(spec);
  }
  if (spec.op == "layer_norm_backward") {
    return layer_gradients(spec);
  }
  if (spec.op == "batch_norm_backward") {
    return batch_gradients(spec);
  }
  throw Unsupported(fmt::format("cuDNN's normalisations have no '{}'", spec.op));
}

std::vector<VariantBuilder> norm_variants(const model::LayerSpec& spec,
                                          CudnnLibrary::Handle& handle,
                                          const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  try {
    for (GraphForm& form : norm_forms(spec)) {
      try {
        std::vector<VariantBuilder> more = graph_variants(spec, std::move(form), handle, kernel);
        std::move(more.begin(), more.end(), std::back_inserter(builders));
      } catch (const CudnnLibrary::Refusal&) {
        continue;  // the other layout may do
      }
    }
  } catch (const Unsupported&) {
    return {};
  }
  return builders;
}

}  // namespace plumb::cuda
