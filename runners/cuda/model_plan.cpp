// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/model_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/driver/library_refusal.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/engine/exec/memory_plan.hpp"

namespace plumb::cuda {
namespace {

/// Buffer and layout in which a value is stored.
struct ValueLayout {
  std::size_t buffer = 0;
  TensorLayout layout = TensorLayout::kChannelsFirst;
};

/// Planner of one model. It visits the layers in order and collects buffers, steps and lifetimes.
class GraphPlanner {
 public:
  GraphPlanner(const model::Graph& graph,
               const worker::LayerVariants& variants,
               const LayerSource& source,
               bool apart)
      : graph_(graph), variants_(variants), source_(source), apart_(apart) {
    held_.resize(graph.values.size());
    model_.variants.resize(graph.layers.size());
  }

  DeviceModelPlan compose() {
    for (const model::ValueId input : graph_.inputs) {
      hold(input, {add_operand(input, TensorLayout::kChannelsFirst), TensorLayout::kChannelsFirst});
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
      model_.plan.outputs.push_back(in_layout(output, TensorLayout::kChannelsFirst));
    }
    place_buffers();
    model_.plan.implementation = "plumb:model";
    return std::move(model_);
  }

 private:
  void add(const model::Layer& layer) {
    if (layer.role == model::Layer::Role::kUnsupported) {
      throw Unsupported(layer.reason);
    }
    if (layer.role == model::Layer::Role::kView) {
      // A view gives the same bytes other extents, so they must lie in the order of the extents.
      const std::size_t buffer = in_layout(operand_of(layer, 0), TensorLayout::kChannelsFirst);
      hold(layer.outputs.at(0), {buffer, TensorLayout::kChannelsFirst});
    } else if (layer.role == model::Layer::Role::kCompute) {
      add_computation(layer);
    }
  }

  void add_computation(const model::Layer& layer) {
    if (layer.outputs.size() != layer.spec.outputs.size()) {
      throw Unsupported("the layer's outputs are not those of its key");
    }
    const ExecutionPlan& part = built(layer, choose(layer));
    std::vector<std::size_t> map;
    for (const DeviceBuffer& buffer : part.buffers) {
      map.push_back(buffer_for(layer, buffer));
    }
    model_.plan.workspace_bytes = std::max(model_.plan.workspace_bytes, part.workspace_bytes);
    for (const DeviceStep& step : part.once) {
      model_.plan.once.push_back(mapped(step, map));
    }
    for (const DeviceStep& step : part.steps) {
      append(mapped(step, map), false);
    }
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      const std::size_t buffer = part.outputs[i];
      hold(layer.outputs[i], {map[buffer], part.buffers[buffer].layout});
    }
  }

  /// Returns the plan of the chosen variant or, if the library refuses it, of the first other that
  /// it builds. Throws Unsupported with the refusal of the chosen one.
  const ExecutionPlan& built(const model::Layer& layer, const VariantBuilder& chosen) {
    std::string refusal;
    if (const ExecutionPlan* part = built_or_refused(layer, chosen, refusal)) {
      return *part;
    }
    for (const VariantBuilder& builder : builders(layer)) {
      std::string another;
      if (const ExecutionPlan* part = built_or_refused(layer, builder, another)) {
        return *part;
      }
    }
    throw Unsupported(refusal);
  }

  const ExecutionPlan* built_or_refused(const model::Layer& layer,
                                        const VariantBuilder& builder,
                                        std::string& refusal) {
    const std::pair<std::string, std::string> name(layer.key.text, builder.text);
    if (const auto known = refused_.find(name); known != refused_.end()) {
      refusal = known->second;
      return nullptr;
    }
    const auto found = built_.find(name);
    if (found == built_.end()) {
      try {
        const ExecutionPlan& part = built_.emplace(name, builder.build()).first->second;
        model_.plan.creation += part.creation;
      } catch (const Unsupported& words) {
        refusal = refused_.emplace(name, words.what()).first->second;
        return nullptr;
      } catch (const LibraryRefusal& words) {
        refusal = refused_.emplace(name, words.what()).first->second;
        return nullptr;
      }
    }
    model_.variants[*layer_] = builder.text;
    return &built_.at(name);
  }

  const VariantBuilder& choose(const model::Layer& layer) {
    const std::vector<VariantBuilder>& list = builders(layer);
    if (const auto named = variants_.find(layer.key); named != variants_.end()) {
      for (const VariantBuilder& builder : list) {
        if (builder.text == named->second) {
          return builder;
        }
      }
    }
    // A library's choice is not changed. Of built-in kernels, the one that takes its inputs as they
    // lie needs the fewest reorders.
    if (!results::VariantId(list.front().text).is_own()) {
      return list.front();
    }
    return *std::max_element(list.begin(), list.end(), [&](const auto& a, const auto& b) {
      return matches(layer, a) < matches(layer, b);
    });
  }

  /// Counts the activations that already lie in the layout that a variant wants.
  std::size_t matches(const model::Layer& layer, const VariantBuilder& builder) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < builder.inputs.size(); ++i) {
      if (!layer.spec.has_input(i)) {
        continue;
      }
      const model::ValueId value = operand_of(layer, i);
      const auto& places = held_[value];
      count +=
          std::any_of(places.begin(),
                      places.end(),
                      [&](const ValueLayout& held) { return held.layout == builder.inputs[i]; }) &&
                  !is_constant(value)
              ? 1U
              : 0U;
    }
    return count;
  }

  std::size_t buffer_for(const model::Layer& layer, const DeviceBuffer& buffer) {
    if (buffer.role == DeviceBuffer::Role::kInput && buffer.bytes > 0) {
      return in_layout(operand_of(layer, buffer.operand), buffer.layout);
    }
    DeviceBuffer own = buffer;
    own.role = DeviceBuffer::Role::kIntermediate;
    return add_buffer(std::move(own));
  }

  std::size_t add_buffer(DeviceBuffer buffer) {
    model_.plan.buffers.push_back(std::move(buffer));
    return model_.plan.buffers.size() - 1;
  }

  std::size_t add_operand(model::ValueId value, TensorLayout layout) {
    const auto [at, added] = operands_.try_emplace(value, model_.operands.size());
    if (added) {
      model_.operands.push_back(value);
    }
    DeviceBuffer buffer;
    buffer.operand = at->second;
    buffer.weight = is_constant(value);
    buffer.type = graph_.values[value].type;
    buffer.layout = layout;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(buffer.type).value);
    return add_buffer(std::move(buffer));
  }

  /// Returns the buffer of a value in a layout. If there is none yet, a weight gets one before the
  /// run, and a step makes that of any other value.
  std::size_t in_layout(model::ValueId value, TensorLayout layout) {
    const model::TensorType& type = graph_.values[value].type;
    for (const ValueLayout& held : held_.at(value)) {
      if (same_order(type.dims, held.layout, layout)) {
        return held.buffer;
      }
    }
    if (is_constant(value)) {
      hold(value, {add_operand(value, layout), layout});
      return held_[value].back().buffer;
    }
    if (held_[value].empty()) {
      throw Unsupported(
          fmt::format("no executed layer computes the value '{}'", graph_.values[value].name));
    }
    const ValueLayout first = held_[value].front();
    DeviceBuffer buffer;
    buffer.role = DeviceBuffer::Role::kIntermediate;
    buffer.type = type;
    buffer.layout = layout;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
    const std::size_t made = add_buffer(std::move(buffer));
    append(source_.step(layout_change(type, first.layout, layout, 0, 1), {first.buffer, made}),
           true);
    ++model_.reorders;
    model_.reordered += Bytes{2 * model::byte_size(type).value};
    hold(value, {made, layout});
    return made;
  }

  void append(DeviceStep step, bool reorder) {
    for (const auto* const buffers : {&step.buffers.reads, &step.buffers.writes}) {
      for (const std::size_t buffer : *buffers) {
        const std::size_t now = model_.plan.steps.size();
        lives_.try_emplace(buffer, engine::Lifetime{0, now, now}).first->second.last = now;
      }
    }
    model_.plan.steps.push_back(std::move(step));
    model_.origins.push_back({layer_, reorder});
  }

  void place_buffers() {
    const std::size_t end = model_.plan.steps.size();
    for (const std::size_t output : model_.plan.outputs) {
      lives_.try_emplace(output, engine::Lifetime{0, 0, 0}).first->second.last = end;
    }
    std::vector<std::size_t> placed;
    std::vector<engine::Lifetime> lifetimes;
    for (auto& [number, life] : lives_) {
      const DeviceBuffer& buffer = model_.plan.buffers[number];
      if (buffer.role == DeviceBuffer::Role::kIntermediate && !buffer.weight && buffer.bytes > 0) {
        placed.push_back(number);
        // Steps on other streams may run at any time, so then each buffer lives to the end.
        lifetimes.push_back(apart_ ? engine::Lifetime{buffer.bytes, 0, end}
                                   : engine::Lifetime{buffer.bytes, life.first, life.last});
      }
    }
    const engine::MemoryPlan memory =
        engine::plan_memory(lifetimes, engine::MemoryPlan::kDeviceAlignment);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      model_.plan.buffers[placed[i]].arena = memory.offsets[i];
    }
    model_.plan.arena_bytes = memory.bytes;
  }

  [[nodiscard]] static model::ValueId operand_of(const model::Layer& layer, std::size_t index) {
    PLUMB_CHECK(index < layer.inputs.size() && layer.inputs[index].has_value());
    return *layer.inputs[index];
  }

  [[nodiscard]] bool is_constant(model::ValueId value) const {
    const std::optional<model::LayerId> producer = graph_.values[value].producer;
    if (producer) {
      return graph_.layers[*producer].role == model::Layer::Role::kFolded;
    }
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), value) == graph_.inputs.end();
  }

  void hold(model::ValueId value, ValueLayout held) { held_.at(value).push_back(held); }

  const std::vector<VariantBuilder>& builders(const model::Layer& layer) {
    const auto found = builders_.find(layer.key);
    return found != builders_.end()
               ? found->second
               : builders_.emplace(layer.key, source_.builders(layer.spec)).first->second;
  }

  const model::Graph& graph_;
  const worker::LayerVariants& variants_;
  const LayerSource& source_;
  bool apart_;
  DeviceModelPlan model_;
  std::optional<model::LayerId> layer_;
  std::vector<std::vector<ValueLayout>> held_;      // by value; first: as it was made
  std::map<model::ValueId, std::size_t> operands_;  // index into model_.operands
  std::map<std::size_t, engine::Lifetime> lives_;   // of buffers, in steps
  std::unordered_map<model::LayerKey, std::vector<VariantBuilder>> builders_;
  std::map<std::pair<std::string, std::string>, ExecutionPlan> built_;
  std::map<std::pair<std::string, std::string>, std::string> refused_;  // why, by the same names
};

}  // namespace

DeviceModelPlan plan_model(const model::Graph& graph,
                           const worker::LayerVariants& variants,
                           const LayerSource& source,
                           bool apart) {
  return GraphPlanner(graph, variants, source, apart).compose();
}

}  // namespace plumb::cuda
