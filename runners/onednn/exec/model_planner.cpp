// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/model_planner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "runners/engine/plan/graph_planner.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {
namespace {

/// Returns whether the library chooses the layout of an operator's operands. Otherwise it takes
/// them as they come.
bool chooses_layouts(const model::LayerSpec& spec) {
  constexpr std::array<std::string_view, 9> kOps{"conv",
                                                 "conv_transpose",
                                                 "gemm",
                                                 "matmul",
                                                 "conv_integer",
                                                 "matmul_integer",
                                                 "conv_backward_data",
                                                 "conv_backward_weights",
                                                 "gemm_bias_gradient"};
  return std::find(kOps.begin(), kOps.end(), spec.op) != kOps.end();
}

/// Returns the kind of a variant's primitive where a layer has several kinds; "" elsewhere.
std::string_view kind_of(const VariantBuilder& builder) {
  return results::VariantId(builder.details).field("kind");
}

/// Returns whether the library generates a variant's code for its shapes.
bool is_generated(const VariantBuilder& builder) {
  return !builder.implementation.ends_with(":any");
}

/// Returns whether a layer computes each output element from the elements at the same place. They
/// all have one type, and single numbers may be among the operands.
bool is_elementwise(const model::LayerSpec& spec) {
  constexpr std::array<std::string_view, 6> kOps{
      "eltwise", "binary", "sum", "max", "min", "eltwise_backward"};
  if (std::find(kOps.begin(), kOps.end(), spec.op) == kOps.end() || !spec.epilogue.empty() ||
      spec.outputs.size() != 1) {
    return false;
  }
  const model::TensorType& y = spec.outputs[0];
  return std::all_of(spec.inputs.begin(), spec.inputs.end(), [&](const auto& x) {
    return x && x->dtype == y.dtype &&
           (model::element_count(*x) == 1 || (x->dims == y.dims && !x->constant));
  });
}

/// Returns whether a variant takes all operands dense.
bool takes_dense(const VariantBuilder& builder) {
  for (std::size_t i = 0; i < builder.arguments.size(); ++i) {
    if (!same_bytes(builder.arguments[i].view, builder.layouts[i])) {
      return false;
    }
  }
  return true;
}

/// Returns whether a primitive of a plan writes the buffer.
bool is_result_of_primitive(const ExecutionPlan& plan, std::size_t buffer) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    const auto* primitive = std::get_if<PrimitiveStep>(&step);
    return primitive != nullptr && std::any_of(primitive->arguments.begin(),
                                               primitive->arguments.end(),
                                               [&](const PrimitiveStep::Argument& argument) {
                                                 return argument.buffer == buffer &&
                                                        argument.index == DNNL_ARG_DST;
                                               });
  });
}

/// Planner of oneDNN's plans. Element-wise layers run on the bytes as they lie and leave their
/// results in the same layout. Views and transpositions of strided values need no dense copy.
class ModelPlanner final
    : public engine::GraphPlanner<ModelPlanner, ExecutionPlan, VariantBuilder, ValueLayout> {
 public:
  ModelPlanner(const model::Graph& graph,
               const worker::LayerVariants& variants,
               const Device& device,
               LayerParts& parts,
               std::size_t lanes)
      : GraphPlanner(graph, variants, parts), device_(device), parts_(parts), lanes_(lanes) {}

  static constexpr bool kSharesConstants = false;  ///< each layer's copy is prepacked for it

  /// Builds a plan. Refuses none: the library's exceptions refuse the model.
  static std::optional<ExecutionPlan> build(const VariantBuilder& builder,
                                            std::string& /*refusal*/) {
    return builder.build();
  }

  static Buffer buffer_in(const model::TensorType& type, const ValueLayout& layout) {
    Buffer buffer;
    buffer.view = layout.layout;
    buffer.layout = layout.layout;
    buffer.bytes = layout.layout == dnnl::memory::desc()
                       ? static_cast<std::size_t>(model::byte_size(type).value)
                       : layout.layout.get_size();
    return buffer;
  }
  static ValueLayout layout_of(const Buffer& buffer) { return {buffer.view, buffer.layout}; }
  static ValueLayout dense_form(const ValueLayout& layout) { return {layout.view, layout.view}; }
  static bool is_dense(const ValueLayout& layout, const model::TensorType& /*type*/) {
    return layout.dense();
  }
  static bool fits(const ValueLayout& layout,
                   const Buffer& wanted,
                   const model::TensorType& /*type*/) {
    return !wanted.pack &&
           ((layout.dense() && layout_of(wanted).dense()) ||
            (layout.view == wanted.view && same_bytes(layout.layout, wanted.layout)));
  }

  /// Buffers that are filled once, or that may rely on the zeros with which they were allocated,
  /// must not share memory.
  static bool shares_memory(const ExecutionPlan& part, std::size_t index) {
    const Buffer& buffer = part.buffers[index];
    return buffer.role == Buffer::Role::kInput ||
           (!buffer.pack &&
            (buffer.role == Buffer::Role::kOutput || is_result_of_primitive(part, index)));
  }

  /// Returns the buffers of a step of a part. A kernel may use all of them.
  static engine::PlanBuffer::Uses uses_of(const ExecutionPlan& part, const Step& step) {
    engine::PlanBuffer::Uses uses;
    const auto add = [&](std::size_t index) {
      const Buffer& buffer = part.buffers[index];
      if (buffer.role == Buffer::Role::kInput) {
        uses.reads.push_back(index);
      }
      if (buffer.role != Buffer::Role::kInput || buffer.updated) {
        uses.writes.push_back(index);
      }
    };
    if (const auto* primitive = std::get_if<PrimitiveStep>(&step)) {
      for (const PrimitiveStep::Argument& argument : primitive->arguments) {
        add(argument.buffer);
      }
    } else {
      for (std::size_t index = 0; index < part.buffers.size(); ++index) {
        add(index);
      }
    }
    return uses;
  }

  /// Returns the library's first choice. Among equal variants generated code wins against loops of
  /// a compiler, which may take ten times as long as a change of layout. Then the one wins whose
  /// operands already lie as it wants them.
  const VariantBuilder& preferred(const model::Layer& layer,
                                  const std::vector<VariantBuilder>& list) {
    const bool references =
        std::all_of(list.begin(),
                    list.end(),
                    [](const VariantBuilder& builder) { return builder.is_reference(); }) ||
        model::is_recurrent(layer.spec);
    const bool as_they_come = !chooses_layouts(layer.spec);
    const VariantBuilder* best = nullptr;
    std::pair<bool, std::size_t> best_rank;
    for (const VariantBuilder& builder : list) {
      if (builder.is_reference() && !references) {
        continue;
      }
      // Another layout may save a reorder, but the library's choice of implementation must stay,
      // unless the operator takes layouts as they come.
      if (best != nullptr && !as_they_come &&
          (builder.implementation != best->implementation || kind_of(builder) != kind_of(*best))) {
        continue;
      }
      const std::pair rank(is_generated(builder), matches(layer, builder));
      if (best == nullptr || rank > best_rank) {
        best = &builder;
        best_rank = rank;
      }
    }
    PLUMB_CHECK(best != nullptr);
    return *best;
  }

  bool add_otherwise(const model::Layer& layer) {
    if (add_strided_transpose(layer)) {
      return true;
    }
    const std::optional<ValueLayout> common = common_layout(layer);
    if (common) {
      add_as_it_lies(layer, *common);
    }
    return common.has_value();
  }

  /// The bytes stay as they lie if the view's extents can describe them.
  Place viewed(model::ValueId operand, const model::TensorType& view) {
    const model::TensorType& from = graph().values[operand].type;
    const std::vector<Place>& places = places_of(operand);
    if (!places.empty() && from.dtype == view.dtype && !view.dims.empty() &&
        lies_strided(places.front().layout, from.dims)) {
      if (const auto layout = reshaped(places.front().layout.layout, view.dims)) {
        return {places.front().buffer, {onednn::dense(view), *layout}};
      }
    }
    return GraphPlanner::viewed(operand, view);
  }

  std::size_t change_layout(model::ValueId value, const Buffer& wanted) {
    const Place first = places_of(value).front();
    const ValueLayout layout = layout_of(wanted);
    if (!wanted.pack && first.layout.view == wanted.view) {
      return reorder(value, first, layout).buffer;
    }
    Place source{dense(value).buffer, {wanted.view, wanted.view}};
    if (!wanted.pack) {
      return layout.dense() ? source.buffer : reorder(value, source, layout).buffer;
    }
    // No descriptor says how it was packed, so no other step can use it.
    source.buffer = add_packing(source.buffer, wanted);
    return layout.dense() ? source.buffer
                          : add_reorder(graph().values[value].type, source, layout).buffer;
  }

  Step reorder_step(const model::TensorType& /*type*/, const Place& from, const Place& to) {
    return copy_step(from.buffer, from.layout.layout, to.buffer, to.layout.layout);
  }

  engine::MemoryPlan place(const std::vector<engine::MemoryPlan::Piece>& pieces) {
    if (lanes_ < 2) {
      return engine::plan_memory(pieces);
    }
    schedule();
    return engine::plan_memory(pieces, order_to_end());
  }

 private:
  Step copy_step(std::size_t source,
                 const dnnl::memory::desc& from,
                 std::size_t result,
                 const dnnl::memory::desc& to) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc description(device_, from, device_, to, attributes);
    PrimitiveStep step;
    step.primitive = make_primitive(description, planned().plan);
    step.arguments = {{DNNL_ARG_FROM, source, from, 0}, {DNNL_ARG_TO, result, to, 0}};
    return step;
  }

  std::size_t add_result(const dnnl::memory::desc& layout) {
    Buffer buffer = buffer_in({}, {layout, layout});
    buffer.role = Buffer::Role::kIntermediate;
    return add_buffer(std::move(buffer));
  }

  /// Adds a step that packs a dense operand as `wanted` says, and returns the new buffer.
  std::size_t add_packing(std::size_t source, const Buffer& wanted) {
    const std::size_t result = add_result(wanted.view);
    append(KernelStep([pack = wanted.pack, source, result](std::span<std::byte* const> buffers) {
             pack(buffers[source], buffers[result]);
           }),
           {{source}, {result}},
           true);
    return result;
  }

  /// Transposes a strided operand as it lies, without a dense copy before. Returns false if the
  /// operand is not strided.
  bool add_strided_transpose(const model::Layer& layer) {
    if (layer.spec.op != "transpose" || places_of(operand_of(layer, 0)).empty()) {
      return false;
    }
    const Place held = places_of(operand_of(layer, 0)).front();
    if (!lies_strided(held.layout, layer.spec.inputs.at(0)->dims)) {
      return false;
    }
    const ValueLayout::StridedTranspose plan =
        strided_transpose(held.layout.layout, layer.spec.integers("perm"));
    set_variant("impl=reorder;layout=as_it_lies");
    const std::size_t result = add_result(plan.layout);
    append(
        copy_step(held.buffer, plan.from, result, plan.layout), {{held.buffer}, {result}}, false);
    hold(layer.outputs.at(0), {result, {onednn::dense(layer.spec.outputs.at(0)), plan.layout}});
    return true;
  }

  /// Returns the layout that all full-size operands of an element-wise layer can share. It is that
  /// of the first one that is not dense. Returns nothing for other layers, or if all of them are
  /// dense.
  std::optional<ValueLayout> common_layout(const model::Layer& layer) {
    if (!is_elementwise(layer.spec)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (!is_full_size(layer, i)) {
        continue;
      }
      const ValueLayout& held = places_of(operand_of(layer, i)).at(0).layout;
      if (!held.dense() && held.packed() &&
          held.view.get_format_kind() == dnnl::memory::format_kind::blocked) {
        return held;
      }
    }
    return std::nullopt;
  }

  /// Returns whether an operand is an activation of the result's extents.
  [[nodiscard]] bool is_full_size(const model::Layer& layer, std::size_t operand) const {
    return layer.spec.inputs[operand]->dims == layer.spec.outputs[0].dims &&
           !is_constant(operand_of(layer, operand));
  }

  void add_as_it_lies(const model::Layer& layer, const ValueLayout& common) {
    const std::vector<VariantBuilder>& list = parts_.builders(layer);
    const auto builder = std::find_if(list.begin(), list.end(), takes_dense);
    if (builder == list.end()) {
      throw Unsupported("no implementation takes dense operands");
    }
    ExecutionPlan part = built(layer, *builder);
    for (Buffer& buffer : part.buffers) {
      if (buffer.role == Buffer::Role::kInput && buffer.bytes > 0 &&
          is_full_size(layer, buffer.operand)) {
        buffer.view = common.view;
        buffer.layout = common.layout;
      }
    }
    hold(layer.outputs.at(0), {add_part(layer, part).at(part.outputs.at(0)), common});
  }

  /// Counts the operands that already lie as a variant wants them.
  std::size_t matches(const model::Layer& layer, const VariantBuilder& builder) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < builder.arguments.size(); ++i) {
      const Argument& argument = builder.arguments[i];
      if (argument.role != Buffer::Role::kInput || argument.weight) {
        continue;
      }
      const model::ValueId value = operand_of(layer, argument.operand);
      Buffer buffer;
      buffer.view = argument.view;
      buffer.layout = builder.layouts[i];
      count += !is_constant(value) && find(value, buffer) != nullptr ? 1U : 0U;
    }
    return count;
  }

  /// Schedules the steps on the lanes. Each layer's cost (model::rough_cost()) is shared by its
  /// steps, and each step also costs the bytes of its results.
  void schedule() {
    const ModelPlan& model = planned();
    std::map<std::optional<model::LayerId>, double> parts;
    for (const worker::Backend::PreparedModel::Step& origin : model.origins) {
      parts[origin.layer] += origin.reorder ? 0.0 : 1.0;
    }
    std::set<std::size_t> written;
    for (const engine::PlanBuffer::Uses& uses : model.uses) {
      written.insert(uses.writes.begin(), uses.writes.end());
    }
    std::vector<double> costs(model.origins.size(), 0.0);
    for (const auto& [buffer, users] : engine::buffer_users(model.uses)) {
      if (written.contains(buffer)) {
        costs[users.front()] += static_cast<double>(model.plan.buffers[buffer].bytes);
      }
    }
    for (std::size_t step = 0; step < costs.size(); ++step) {
      const worker::Backend::PreparedModel::Step& origin = model.origins[step];
      if (origin.layer && !origin.reorder) {
        costs[step] += model::rough_cost(graph().layers[*origin.layer].spec) / parts[origin.layer];
      }
    }
    planned().plan.schedule =
        engine::schedule_branches(engine::step_needs(model.uses), costs, lanes_);
  }

  /// Returns the schedule's order, with one more step behind all of them.
  [[nodiscard]] engine::MemoryPlan::Order order_to_end() {
    engine::StepNeeds needs = planned().plan.schedule.needs();
    const std::size_t end = planned().plan.steps.size();
    needs.resize(end + 1);
    needs[end].resize(end);
    std::iota(needs[end].begin(), needs[end].end(), std::size_t{0});
    return engine::MemoryPlan::Order(needs);
  }

  const Device& device_;
  LayerParts& parts_;
  std::size_t lanes_;
};

/// Lists the ways to execute each layer before the first primitive is made. So their memory lies
/// together, and is given back to the system as a whole when they are released.
void list_builders(const model::Graph& graph, LayerParts& parts) {
  for (const model::Layer& layer : graph.layers) {
    try {
      if (layer.role == model::Layer::Role::kCompute) {
        static_cast<void>(parts.builders(layer));
      }
    } catch (const Unsupported&) {
      continue;  // whoever needs them refuses the layer; a move of strided data needs none
    }
  }
}

}  // namespace

LayerParts make_layer_parts(const Device& device) {
  return LayerParts(
      [&device](const model::LayerSpec& spec) { return collect_builders(spec, device).take(); },
      [&device](const model::LayerSpec& spec, const std::string& variant) {
        return divided_builder(spec, variant, device);
      });
}

ModelPlan plan_model(const model::Graph& graph,
                     const worker::LayerVariants& variants,
                     const Device& device,
                     LayerParts& parts,
                     std::size_t lanes) {
  list_builders(graph, parts);
  return ModelPlanner(graph, variants, device, parts, lanes).plan();
}

ModelPlan plan_branches(const model::Graph& graph,
                        const worker::LayerVariants& variants,
                        const Device& device) {
  const std::optional<int> threads = openmp_threads();
  if (!threads) {
    throw Unsupported("the library's threads are not OpenMP's, so they cannot be split");
  }
  if (*threads < 2) {
    throw Unsupported("one thread cannot be split between branches: use --threads");
  }
  const std::size_t lanes = engine::useful_lanes(graph, static_cast<std::size_t>(*threads));
  if (lanes < 2) {
    throw Unsupported(
        "at least nine tenths of the work are on one path: there are no branches to run side by "
        "side");
  }
  const int share = *threads / static_cast<int>(lanes);
  const OpenmpThreads parted(share);  // primitives remember for how many threads they were made
  LayerParts parts = make_layer_parts(device);
  ModelPlan model = plan_model(graph, variants, device, parts, lanes);
  model.plan.threads_of_lane = share;
  return model;
}

}  // namespace plumb::onednn
