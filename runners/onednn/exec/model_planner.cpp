// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/model_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/recurrent_shape.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/openmp_threads.hpp"
#include "runners/onednn/exec/plan_builder.hpp"
#include "runners/onednn/exec/strided_layout.hpp"
#include "runners/onednn/exec/value_layout.hpp"

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
  const std::string_view details = builder.details;
  return details.starts_with("kind=") ? details.substr(0, details.find(';')) : "";
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
bool is_dense(const VariantBuilder& builder) {
  for (std::size_t i = 0; i < builder.arguments.size(); ++i) {
    if (!same_bytes(builder.arguments[i].view, builder.layouts[i])) {
      return false;
    }
  }
  return true;
}

/// Planner of a model: it chooses each layer's variant and tracks in which layouts each value lies.
class GraphPlanner {
 public:
  GraphPlanner(const model::Graph& graph,
               const worker::LayerVariants& variants,
               const Device& device,
               LayerParts& parts,
               std::size_t lanes)
      : graph_(graph), variants_(variants), parts_(parts), builder_(graph, device, lanes) {
    held_.resize(graph.values.size());
  }

  ModelPlan compose() {
    list_builders();
    for (const model::ValueId input : graph_.inputs) {
      held_[input].push_back({builder_.add_operand(input, {}), {}, {}});
    }
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      const model::Layer& layer = graph_.layers[id];
      builder_.begin_layer(id);
      try {
        add(layer);
      } catch (const Unsupported& refusal) {
        throw Unsupported(fmt::format("layer {}: {}", layer.name, refusal.what()));
      }
    }
    builder_.begin_layer(std::nullopt);
    std::vector<std::size_t> outputs;
    for (const model::ValueId output : graph_.outputs) {
      outputs.push_back(dense(output).buffer);
    }
    return builder_.finish(std::move(outputs));
  }

 private:
  /// Lists the ways to execute each layer before the first primitive is made. So their memory lies
  /// together, and is given back to the system as a whole when they are released.
  void list_builders() {
    for (const model::Layer& layer : graph_.layers) {
      try {
        if (layer.role == model::Layer::Role::kCompute) {
          static_cast<void>(builders(layer));
        }
      } catch (const Unsupported&) {
        continue;  // whoever needs them refuses the layer; a move of strided data needs none
      }
    }
  }

  void add(const model::Layer& layer) {
    switch (layer.role) {
      case model::Layer::Role::kFolded:
        return;
      case model::Layer::Role::kUnsupported:
        throw Unsupported(layer.reason);
      case model::Layer::Role::kView:
        hold(layer, 0, viewed(layer));
        return;
      case model::Layer::Role::kCompute:
        add_computation(layer);
        return;
    }
  }

  /// Returns the operand's layout under a view's extents. The bytes stay as they lie if the new
  /// extents can describe them, and are made dense otherwise.
  ValueLayout viewed(const model::Layer& layer) {
    const model::ValueId value = operand_of(layer, 0);
    if (replaced_.contains(value)) {
      require_held(value);
    }
    const model::TensorType& from = graph_.values[value].type;
    const model::TensorType& to = graph_.values[layer.outputs.at(0)].type;
    if (!held_.at(value).empty() && from.dtype == to.dtype && !to.dims.empty() &&
        lies_strided(held_[value].front(), from.dims)) {
      const ValueLayout& held = held_[value].front();
      if (const auto layout = reshaped(held.layout, to.dims)) {
        return {held.buffer, onednn::dense(to), *layout};
      }
    }
    return {dense(value).buffer, {}, {}};
  }

  /// Transposes a strided operand as it lies, without a dense copy before. Returns false if the
  /// operand is not strided.
  bool add_strided_transpose(const model::Layer& layer) {
    if (layer.spec.op != "transpose" || held_.at(operand_of(layer, 0)).empty()) {
      return false;
    }
    const ValueLayout held = held_[operand_of(layer, 0)].front();
    if (!lies_strided(held, layer.spec.inputs.at(0)->dims)) {
      return false;
    }
    const StridedTranspose plan = strided_transpose(held.layout, layer.spec.integers("perm"));
    builder_.set_variant("impl=reorder;layout=as_it_lies");
    const std::size_t result = builder_.add_move(held.buffer, plan.from, plan.layout);
    hold(layer, 0, {result, onednn::dense(layer.spec.outputs.at(0)), plan.layout});
    return true;
  }

  void add_computation(const model::Layer& layer) {
    if (layer.outputs.size() != layer.spec.outputs.size()) {
      throw Unsupported("the layer's outputs are not those of its key");
    }
    if (add_strided_transpose(layer)) {
      return;
    }
    if (const std::optional<ValueLayout> common = common_layout(layer)) {
      add_as_it_lies(layer, *common);
      return;
    }
    const VariantBuilder& builder = choose(layer);
    builder_.set_variant(builder.text());
    const ExecutionPlan& part = built(layer, builder);
    std::vector<std::size_t> map;
    for (const Buffer& buffer : part.buffers) {
      map.push_back(buffer_for(layer, buffer));
    }
    builder_.add_part(part, map);
    for (std::size_t index = 0; index < part.outputs.size(); ++index) {
      const Buffer& buffer = part.buffers[part.outputs[index]];
      hold(layer, index, {map[part.outputs[index]], buffer.view, buffer.layout});
      if (buffer.updated) {
        replaced_.insert(operand_of(layer, buffer.operand));
      }
    }
  }

  /// Returns the layout that all full-size operands of an element-wise layer can share. It is that
  /// of the first one that is not dense. Returns nothing for other layers, or if all of them are
  /// dense.
  std::optional<ValueLayout> common_layout(const model::Layer& layer) {
    if (!is_elementwise(layer.spec)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      const model::ValueId value = operand_of(layer, i);
      if (layer.spec.inputs[i]->dims != layer.spec.outputs[0].dims || builder_.is_constant(value)) {
        continue;
      }
      const ValueLayout& held = held_.at(value).at(0);
      if (!held.dense() && held.packed() &&
          held.view.get_format_kind() == dnnl::memory::format_kind::blocked) {
        return held;
      }
    }
    return std::nullopt;
  }

  void add_as_it_lies(const model::Layer& layer, const ValueLayout& common) {
    const BuilderList& list = builders(layer);
    const auto builder = std::find_if(list.builders().begin(), list.builders().end(), is_dense);
    if (builder == list.builders().end()) {
      throw Unsupported("no implementation takes dense operands");
    }
    builder_.set_variant(builder->text());
    const ExecutionPlan& part = built(layer, *builder);
    std::vector<std::size_t> map;
    for (const Buffer& buffer : part.buffers) {
      const bool full = buffer.role == Buffer::Role::kInput && buffer.bytes > 0 &&
                        !builder_.is_constant(operand_of(layer, buffer.operand)) &&
                        layer.spec.inputs[buffer.operand]->dims == layer.spec.outputs[0].dims;
      Buffer wanted = buffer;
      if (full) {
        wanted.view = common.view;
        wanted.layout = common.layout;
      }
      map.push_back(buffer_for(layer, wanted));
    }
    builder_.add_part(part, map);
    hold(layer, 0, {map[part.outputs.at(0)], common.view, common.layout});
  }

  /// Returns the variant that the request names, or else the library's first choice. Among equal
  /// variants generated code wins against loops of a compiler, which may take ten times as long as
  /// a change of layout. Then the one wins whose operands already lie as it wants them.
  const VariantBuilder& choose(const model::Layer& layer) {
    const BuilderList& list = builders(layer);
    if (const auto named = variants_.find(layer.key); named != variants_.end()) {
      for (const VariantBuilder& builder : list.builders()) {
        if (builder.text() == named->second) {
          return builder;
        }
      }
      if (const VariantBuilder* divided = parts_.divided(layer, named->second)) {
        return *divided;
      }
    }
    const bool references = list.only_references() || model::is_recurrent(layer.spec);
    const bool as_they_come = !chooses_layouts(layer.spec);
    const VariantBuilder* best = nullptr;
    std::pair<bool, std::size_t> best_rank;
    for (const VariantBuilder& builder : list.builders()) {
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
      count += !builder_.is_constant(value) && find(value, buffer) != nullptr ? 1U : 0U;
    }
    return count;
  }

  std::size_t buffer_for(const model::Layer& layer, const Buffer& buffer) {
    if (buffer.role != Buffer::Role::kInput) {
      Buffer own = buffer;
      own.role = Buffer::Role::kIntermediate;
      return builder_.add_buffer(std::move(own));
    }
    if (buffer.bytes == 0) {  // an operand left out
      Buffer none;
      none.role = Buffer::Role::kIntermediate;
      return builder_.add_buffer(std::move(none));
    }
    const model::ValueId value = operand_of(layer, buffer.operand);
    return builder_.is_constant(value) ? builder_.add_operand(value, buffer)
                                       : found_or_made(value, buffer);
  }

  /// Returns a place where the value lies as wanted; null if there is none.
  const ValueLayout* find(model::ValueId value, const Buffer& wanted) const {
    if (wanted.pack) {
      return nullptr;
    }
    const bool dense_wanted = same_bytes(wanted.view, wanted.layout);
    for (const ValueLayout& held : held_.at(value)) {
      if ((dense_wanted && held.dense()) ||
          (held.view == wanted.view && same_bytes(held.layout, wanted.layout))) {
        return &held;
      }
    }
    return nullptr;
  }

  std::size_t found_or_made(model::ValueId value, const Buffer& wanted) {
    require_held(value);
    if (const ValueLayout* held = find(value, wanted)) {
      return held->buffer;
    }
    const ValueLayout first = held_[value].front();
    ValueLayout made{0, wanted.view, wanted.layout};
    if (!wanted.pack && first.view == wanted.view) {
      made.buffer = builder_.add_reorder(first.buffer, first.layout, wanted.layout);
    } else if (same_bytes(wanted.view, wanted.layout) && !wanted.pack) {
      return dense(value).buffer;
    } else {
      std::size_t source = dense(value).buffer;
      if (wanted.pack) {
        source = builder_.add_packing(source, wanted);
      }
      made.buffer = same_bytes(wanted.view, wanted.layout)
                        ? source
                        : builder_.add_reorder(source, wanted.view, wanted.layout);
      if (wanted.pack) {
        return made.buffer;  // no descriptor says how it was packed, so no other step can use it
      }
    }
    held_[value].push_back(made);
    return made.buffer;
  }

  /// Returns the dense value, made if there is none. Returned by value, because making it may move
  /// the other layouts.
  ValueLayout dense(model::ValueId value) {
    if (builder_.is_constant(value) && held_[value].empty()) {
      Buffer buffer;
      buffer.bytes = static_cast<std::size_t>(model::byte_size(graph_.values[value].type).value);
      held_[value].push_back({builder_.add_operand(value, buffer), {}, {}});
    }
    require_held(value);
    for (const ValueLayout& held : held_[value]) {
      if (held.dense()) {
        return held;
      }
    }
    const ValueLayout first = held_[value].front();
    ValueLayout made{
        builder_.add_reorder(first.buffer, first.layout, first.view), first.view, first.view};
    held_[value].push_back(made);
    return made;
  }

  [[nodiscard]] static model::ValueId operand_of(const model::Layer& layer, std::size_t index) {
    PLUMB_CHECK(index < layer.inputs.size() && layer.inputs[index].has_value());
    return *layer.inputs[index];
  }

  void require_held(model::ValueId value) const {
    if (replaced_.contains(value)) {
      throw Unsupported(fmt::format("'{}' is read after another value took its place",
                                    graph_.values[value].name));
    }
    if (held_.at(value).empty()) {
      throw Unsupported(
          fmt::format("no executed layer computes the value '{}'", graph_.values[value].name));
    }
  }

  void hold(const model::Layer& layer, std::size_t output, ValueLayout value) {
    held_.at(layer.outputs.at(output)).push_back(std::move(value));
  }

  const BuilderList& builders(const model::Layer& layer) { return parts_.builders(layer); }

  const ExecutionPlan& built(const model::Layer& layer, const VariantBuilder& builder) {
    const ExecutionPlan& part = parts_.built(layer, builder);
    if (counted_.insert(&part).second) {
      builder_.add_creation(part.creation);
    }
    return part;
  }

  const model::Graph& graph_;
  const worker::LayerVariants& variants_;
  LayerParts& parts_;
  PlanBuilder builder_;
  std::vector<std::vector<ValueLayout>> held_;  // by value; first: as it was made
  std::set<const ExecutionPlan*> counted_;      // whose creation time is counted
  std::set<model::ValueId> replaced_;           // whose bytes now are those of another value
};

}  // namespace

ModelPlan plan_model(const model::Graph& graph,
                     const worker::LayerVariants& variants,
                     const Device& device,
                     LayerParts& parts,
                     std::size_t lanes) {
  return GraphPlanner(graph, variants, device, parts, lanes).compose();
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
  LayerParts parts(device);
  ModelPlan model = plan_model(graph, variants, device, parts, lanes);
  model.plan.threads_of_lane = share;
  return model;
}

}  // namespace plumb::onednn
