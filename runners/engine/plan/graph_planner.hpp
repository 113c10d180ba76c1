// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/exec/schedule.hpp"
#include "runners/engine/plan/execution_plan.hpp"

namespace plumb::engine {

/// Planner of whole models (docs/reference/execution.md).
///
/// It visits the layers in the graph's order, chooses a variant for each, and tracks in which
/// layouts each value lies. Each layer is executed by the variant asked for, or else by the one
/// that the backend prefers. Where the backend cannot build it, the first of the layer's others is
/// taken. Where a layer wants another layout than it finds, one reorder makes it for all layers
/// that want the same. Results share one block of memory.
///
/// `Backend` is the class that derives from this one and supplies layouts, reorders and steps, by
/// functions of these names. A `part` is the plan of one layer, an engine::ExecutionPlan.
///
/// - Variants: preferred(layer, builders), build(builder, refusal).
/// - Layouts: buffer_in(type, layout), layout_of(buffer), dense_form(layout), is_dense(layout,
///   type), fits(layout, wanted buffer, type), change_layout(value, wanted buffer).
/// - Steps: reorder_step(type, from, to), mapped(step, map), uses_of(part, step).
/// - Memory: kSharesConstants, shares_memory(part, buffer), place(pieces).
/// - What only some have, with defaults here: viewed(), add_otherwise(), join().
template <typename Backend, typename Plan, typename Builder, typename Layout>
class GraphPlanner {
 public:
  using Buffer = typename Plan::Buffer;
  using Step = typename Plan::Step;
  using Parts = LayerParts<Builder, Plan>;

  /// Place of a model's value in one layout.
  struct Place {
    std::size_t buffer = 0;
    Layout layout{};  ///< by default dense, in the value's own dimensions
  };

  /// Keeps references to all of them.
  GraphPlanner(const model::Graph& graph, const worker::LayerVariants& variants, Parts& parts)
      : graph_(graph), variants_(variants), parts_(parts), held_(graph.values.size()) {
    model_.plan.implementation = "plumb:model";
    model_.variants.resize(graph.layers.size());
  }

  /// Plans the model, once. Throws Unsupported with the layer if one cannot be executed, and the
  /// library's exceptions.
  [[nodiscard]] ModelPlan<Plan> plan() {
    for (const model::ValueId input : graph_.inputs) {
      hold(input, {add_dense_operand(input)});
    }
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      layer_ = id;
      try {
        add(graph_.layers[id]);
      } catch (const Unsupported& refusal) {
        throw Unsupported(fmt::format("layer {}: {}", graph_.layers[id].name, refusal.what()));
      }
    }
    layer_.reset();
    for (const model::ValueId output : graph_.outputs) {
      model_.plan.outputs.push_back(dense(output).buffer);
    }
    place_buffers();
    return std::move(model_);
  }

 protected:
  /// Returns the place of a view's operand under the view's extents, here always dense.
  Place viewed(model::ValueId operand, const model::TensorType& /*view*/) {
    return {dense(operand).buffer};
  }
  /// Adds a layer in another way than by the part of a variant. Returns false if it has none.
  bool add_otherwise(const model::Layer& /*layer*/) { return false; }
  /// Adds what a part has beside its steps. Buffer i of the part is buffer map[i] of the model.
  void join(const Plan& /*part*/, const std::vector<std::size_t>& /*map*/) {}

  [[nodiscard]] const model::Graph& graph() const { return graph_; }
  [[nodiscard]] ModelPlan<Plan>& planned() { return model_; }
  /// Returns where a value lies, first as it was made.
  [[nodiscard]] const std::vector<Place>& places_of(model::ValueId value) const {
    return held_.at(value);
  }

  /// Returns a place where the value lies as wanted; null if there is none.
  [[nodiscard]] const Place* find(model::ValueId value, const Buffer& wanted) const {
    for (const Place& held : held_.at(value)) {
      if (self().fits(held.layout, wanted, graph_.values[value].type)) {
        return &held;
      }
    }
    return nullptr;
  }

  /// Returns the dense value, made if there is none. Returned by value, because making it may move
  /// the other places.
  Place dense(model::ValueId value) {
    if (is_constant(value) && find_dense(value) == nullptr) {
      hold(value, {add_dense_operand(value)});
    }
    require_held(value);
    if (const Place* const held = find_dense(value)) {
      return *held;
    }
    const Place first = held_[value].front();
    return reorder(value, first, self().dense_form(first.layout));
  }

  /// Adds a step that changes a layout, and returns the new place. `type` is the value's.
  Place add_reorder(const model::TensorType& type, const Place& from, const Layout& layout) {
    Buffer buffer = self().buffer_in(type, layout);
    buffer.role = Buffer::Role::kIntermediate;
    ++model_.reorders;
    model_.reordered +=
        Bytes{static_cast<std::int64_t>(model_.plan.buffers[from.buffer].bytes + buffer.bytes)};
    const Place to{add_buffer(std::move(buffer)), layout};
    append(self().reorder_step(type, from, to), {{from.buffer}, {to.buffer}}, true);
    return to;
  }

  /// Adds such a step, and holds the value there for all layers that want the same.
  Place reorder(model::ValueId value, const Place& from, const Layout& layout) {
    const Place to = add_reorder(graph_.values[value].type, from, layout);
    hold(value, to);
    return to;
  }

  std::size_t add_buffer(Buffer buffer) {
    model_.plan.buffers.push_back(std::move(buffer));
    return model_.plan.buffers.size() - 1;
  }

  /// Adds one step of the current layer.
  void append(Step step, PlanBuffer::Uses uses, bool reorder) {
    model_.plan.steps.push_back(std::move(step));
    model_.origins.push_back({layer_, reorder});
    model_.uses.push_back(std::move(uses));
  }

  /// Returns whether a value is a weight, or computed from weights only.
  [[nodiscard]] bool is_constant(model::ValueId value) const {
    const std::optional<model::LayerId> producer = graph_.values[value].producer;
    if (producer) {
      return graph_.layers[*producer].role == model::Layer::Role::kFolded;
    }
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), value) == graph_.inputs.end();
  }

  [[nodiscard]] static model::ValueId operand_of(const model::Layer& layer, std::size_t index) {
    PLUMB_CHECK(index < layer.inputs.size() && layer.inputs[index].has_value());
    return *layer.inputs[index];
  }

  /// Sets the variant that executes the current layer.
  void set_variant(std::string name) { model_.variants.at(layer_.value()) = std::move(name); }

  /// Returns the plan of a variant or, if the library refuses it, of the first other of the layer
  /// that it builds. Throws Unsupported with the refusal of `chosen`.
  const Plan& built(const model::Layer& layer, const Builder& chosen) {
    std::string refusal;
    const Plan* part = built_or_refused(layer, chosen, refusal);
    for (const Builder& builder : parts_.builders(layer)) {
      std::string another;
      part = part != nullptr ? part : built_or_refused(layer, builder, another);
    }
    if (part == nullptr) {
      throw Unsupported(refusal);
    }
    return *part;
  }

  /// Adds a part's buffers and steps. Returns which buffer of the model each of its buffers is.
  std::vector<std::size_t> add_part(const model::Layer& layer, const Plan& part) {
    std::vector<std::size_t> map;
    for (std::size_t buffer = 0; buffer < part.buffers.size(); ++buffer) {
      map.push_back(buffer_for(layer, part, buffer));
    }
    model_.plan.workspace_bytes = std::max(model_.plan.workspace_bytes, part.workspace_bytes);
    self().join(part, map);
    for (const Step& step : part.steps) {
      append(mapped(step, map), mapped(self().uses_of(part, step), map), false);
    }
    return map;
  }

  void hold(model::ValueId value, Place place) { held_.at(value).push_back(std::move(place)); }

 private:
  Backend& self() { return static_cast<Backend&>(*this); }
  const Backend& self() const { return static_cast<const Backend&>(*this); }

  void add(const model::Layer& layer) {
    switch (layer.role) {
      case model::Layer::Role::kFolded:
        return;
      case model::Layer::Role::kUnsupported:
        throw Unsupported(layer.reason);
      case model::Layer::Role::kView:
        require_current(operand_of(layer, 0));
        hold(layer.outputs.at(0),
             self().viewed(operand_of(layer, 0), graph_.values[layer.outputs.at(0)].type));
        return;
      case model::Layer::Role::kCompute:
        add_computation(layer);
        return;
    }
  }

  void add_computation(const model::Layer& layer) {
    if (layer.outputs.size() != layer.spec.outputs.size()) {
      throw Unsupported("the layer's outputs are not those of its key");
    }
    if (self().add_otherwise(layer)) {
      return;
    }
    const Plan& part = built(layer, choose(layer));
    const std::vector<std::size_t> map = add_part(layer, part);
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      const Buffer& buffer = part.buffers[part.outputs[i]];
      hold(layer.outputs.at(i), {map[part.outputs[i]], self().layout_of(buffer)});
      if (buffer.updated) {
        replaced_.insert(operand_of(layer, buffer.operand));
      }
    }
  }

  const Builder& choose(const model::Layer& layer) {
    const std::vector<Builder>& list = parts_.builders(layer);
    if (const auto wanted = variants_.find(layer.key); wanted != variants_.end()) {
      if (const Builder* const builder = parts_.named(layer, wanted->second)) {
        return *builder;
      }
    }
    return self().preferred(layer, list);
  }

  const Plan* built_or_refused(const model::Layer& layer,
                               const Builder& builder,
                               std::string& refusal) {
    const auto build = [this](const Builder& one, std::string& why) {
      return self().build(one, why);
    };
    const Plan* const part = parts_.built(layer, builder, build, refusal);
    if (part != nullptr) {
      set_variant(Parts::name_of(builder));
      if (counted_.insert(part).second) {
        model_.plan.creation += part->creation;
      }
    }
    return part;
  }

  std::size_t buffer_for(const model::Layer& layer, const Plan& part, std::size_t index) {
    const Buffer& buffer = part.buffers[index];
    if (buffer.role == Buffer::Role::kInput && buffer.bytes > 0) {
      return in_layout(operand_of(layer, buffer.operand), buffer);
    }
    Buffer own = buffer.role == Buffer::Role::kInput ? Buffer{} : buffer;  // left out: nothing
    own.role = Buffer::Role::kIntermediate;
    const std::size_t added = add_buffer(std::move(own));
    if (!self().shares_memory(part, index)) {
      apart_.insert(added);
    }
    return added;
  }

  /// Returns the buffer of a value as wanted, made if there is none.
  std::size_t in_layout(model::ValueId value, const Buffer& wanted) {
    const bool constant = is_constant(value);
    if (constant && !Backend::kSharesConstants) {
      return add_operand(value, wanted);
    }
    if (!constant) {
      require_held(value);
    }
    if (const Place* const held = find(value, wanted)) {
      return held->buffer;
    }
    if (!constant) {
      return self().change_layout(value, wanted);
    }
    const Layout layout = self().layout_of(wanted);
    hold(value, {add_operand(value, self().buffer_in(graph_.values[value].type, layout)), layout});
    return held_[value].back().buffer;
  }

  [[nodiscard]] const Place* find_dense(model::ValueId value) const {
    for (const Place& held : held_.at(value)) {
      if (self().is_dense(held.layout, graph_.values[value].type)) {
        return &held;
      }
    }
    return nullptr;
  }

  /// Adds a buffer that is filled with an input or a constant before the run, in the layout of
  /// `buffer`.
  std::size_t add_operand(model::ValueId value, Buffer buffer) {
    const auto [at, added] = operands_.try_emplace(value, model_.operands.size());
    if (added) {
      model_.operands.push_back(value);
    }
    buffer.role = Buffer::Role::kInput;
    buffer.operand = at->second;
    buffer.weight = is_constant(value);
    return add_buffer(std::move(buffer));
  }

  std::size_t add_dense_operand(model::ValueId value) {
    return add_operand(value, self().buffer_in(graph_.values[value].type, Layout{}));
  }

  void require_current(model::ValueId value) const {
    if (replaced_.contains(value)) {
      throw Unsupported(fmt::format("'{}' is read after another value took its place",
                                    graph_.values[value].name));
    }
  }

  void require_held(model::ValueId value) const {
    require_current(value);
    if (held_.at(value).empty()) {
      throw Unsupported(
          fmt::format("no executed layer computes the value '{}'", graph_.values[value].name));
    }
  }

  /// Places results in one block, in which those that are not needed at the same time share memory.
  void place_buffers() {
    std::map<std::size_t, std::vector<std::size_t>> users = buffer_users(model_.uses);
    for (const std::size_t output : model_.plan.outputs) {
      users[output].push_back(model_.plan.steps.size());  // when results are handed out
    }
    std::vector<std::size_t> placed;
    std::vector<MemoryPlan::Piece> pieces;
    for (auto& [number, steps] : users) {
      const Buffer& buffer = model_.plan.buffers[number];
      if (buffer.role == Buffer::Role::kIntermediate && !apart_.contains(number)) {
        placed.push_back(number);
        pieces.push_back({buffer.bytes, std::move(steps)});
      }
    }
    const MemoryPlan memory = self().place(std::move(pieces));
    for (std::size_t i = 0; i < placed.size(); ++i) {
      model_.plan.buffers[placed[i]].arena = memory.offsets[i];
    }
    model_.plan.arena_bytes = memory.bytes;
  }

  const model::Graph& graph_;
  const worker::LayerVariants& variants_;
  Parts& parts_;
  ModelPlan<Plan> model_;
  std::optional<model::LayerId> layer_;   // of the next steps; none: outputs are made dense
  std::vector<std::vector<Place>> held_;  // by value; first: as it was made
  std::map<model::ValueId, std::size_t> operands_;  // index into model_.operands
  std::set<model::ValueId> replaced_;               // whose bytes now are those of another value
  std::set<const Plan*> counted_;                   // parts whose creation time is counted
  std::set<std::size_t> apart_;                     // buffers with memory of their own
};

}  // namespace plumb::engine
