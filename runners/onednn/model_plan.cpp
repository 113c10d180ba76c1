// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/model_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/recurrent_shape.hpp"
#include "runners/engine/memory_plan.hpp"
#include "runners/onednn/held_value.hpp"
#include "runners/onednn/layers/layers.hpp"

namespace plumb::onednn {
namespace {

/// Tells whether the library chooses the layout of an operator's operands, rather than taking them
/// as they come.
bool chooses_layouts(const LayerSpec& spec) {
  constexpr std::array<std::string_view, 4> kOps{"conv", "conv_transpose", "gemm", "matmul"};
  return std::find(kOps.begin(), kOps.end(), spec.op) != kOps.end();
}

/// Tells whether a layer computes each output element from the elements at the same place, all of
/// one type, and perhaps from single numbers.
bool is_elementwise(const LayerSpec& spec) {
  constexpr std::array<std::string_view, 5> kOps{"eltwise", "binary", "sum", "max", "min"};
  if (std::find(kOps.begin(), kOps.end(), spec.op) == kOps.end() || !spec.epilogue.empty() ||
      spec.outputs.size() != 1) {
    return false;
  }
  const TensorType& y = spec.outputs[0];
  return std::all_of(spec.inputs.begin(), spec.inputs.end(), [&](const auto& x) {
    return x && x->dtype == y.dtype &&
           (element_count(*x) == 1 || (x->dims == y.dims && !x->constant));
  });
}

/// Tells whether an offer takes all operands dense.
bool is_dense(const Offer& offer) {
  for (std::size_t i = 0; i < offer.arguments.size(); ++i) {
    if (!same_bytes(offer.arguments[i].view, offer.layouts[i])) {
      return false;
    }
  }
  return true;
}

/// Tells whether a primitive of a plan makes the buffer. Others may be counted on to hold what they
/// were allocated with: zeros.
bool is_result_of_primitive(const LayerPlan& plan, std::size_t buffer) {
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

class Composer {
 public:
  Composer(const Graph& graph, const LayerVariants& variants, const Device& device)
      : graph_(graph), variants_(variants), device_(device) {
    held_.resize(graph.values.size());
  }

  ModelPlan compose() {
    model_.plan.implementation = "plumb:model";
    for (const ValueId input : graph_.inputs) {
      held_[input].push_back({add_operand(input, {}), {}, {}});
    }
    for (const Layer& layer : graph_.layers) {
      try {
        add(layer);
      } catch (const Unsupported& refusal) {
        throw Unsupported(fmt::format("layer {}: {}", layer.name, refusal.what()));
      }
    }
    for (const ValueId output : graph_.outputs) {
      model_.plan.outputs.push_back(dense(output).buffer);
    }
    place_buffers();
    return std::move(model_);
  }

 private:
  void add(const Layer& layer) {
    switch (layer.role) {
      case Layer::Role::kFolded:
        return;
      case Layer::Role::kUnsupported:
        throw Unsupported(layer.reason);
      case Layer::Role::kView:
        hold(layer, 0, {dense(operand_of(layer, 0)).buffer, {}, {}});
        return;
      case Layer::Role::kCompute:
        add_computation(layer);
        return;
    }
  }

  void add_computation(const Layer& layer) {
    if (layer.outputs.size() != layer.spec.outputs.size()) {
      throw Unsupported("the layer's outputs are not those of its key");
    }
    if (const std::optional<HeldValue> common = common_layout(layer)) {
      add_as_it_lies(layer, *common);
      return;
    }
    const LayerPlan part = built(layer, choose(layer));
    std::vector<std::size_t> map;
    for (std::size_t index = 0; index < part.buffers.size(); ++index) {
      const Buffer& buffer = part.buffers[index];
      map.push_back(buffer_for(layer, buffer));
      if (buffer.role == Buffer::Role::kIntermediate && !is_result_of_primitive(part, index)) {
        apart_.insert(map.back());
      }
    }
    append_steps(part, map);
    for (std::size_t index = 0; index < part.outputs.size(); ++index) {
      const Buffer& buffer = part.buffers[part.outputs[index]];
      hold(layer, index, {map[part.outputs[index]], buffer.view, buffer.layout});
    }
  }

  /// Finds the layout that all full-size operands of an element-wise layer can have: that of the
  /// first which does not lie dense. Empty: the layer is none, or all is dense anyway.
  std::optional<HeldValue> common_layout(const Layer& layer) {
    if (!is_elementwise(layer.spec)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      const ValueId value = operand_of(layer, i);
      if (layer.spec.inputs[i]->dims != layer.spec.outputs[0].dims || is_constant(value)) {
        continue;
      }
      const HeldValue& held = held_.at(value).at(0);
      if (!held.dense() && held.packed() &&
          held.view.get_format_kind() == dnnl::memory::format_kind::blocked) {
        return held;
      }
    }
    return std::nullopt;
  }

  void add_as_it_lies(const Layer& layer, const HeldValue& common) {
    const OfferList& list = offers(layer);
    const auto offer = std::find_if(list.offers().begin(), list.offers().end(), is_dense);
    if (offer == list.offers().end()) {
      throw Unsupported("no implementation takes dense operands");
    }
    const LayerPlan part = built(layer, *offer);
    std::vector<std::size_t> map;
    for (const Buffer& buffer : part.buffers) {
      const bool full = buffer.role == Buffer::Role::kInput && buffer.bytes > 0 &&
                        !is_constant(operand_of(layer, buffer.operand)) &&
                        layer.spec.inputs[buffer.operand]->dims == layer.spec.outputs[0].dims;
      Buffer wanted = buffer;
      if (full) {
        wanted.view = common.view;
        wanted.layout = common.layout;
      }
      map.push_back(buffer_for(layer, wanted));
    }
    append_steps(part, map);
    hold(layer, 0, {map[part.outputs.at(0)], common.view, common.layout});
  }

  /// Takes the library's first choice; among equals the one whose operands lie as it wants them.
  const Offer& choose(const Layer& layer) {
    const OfferList& list = offers(layer);
    if (const auto named = variants_.find(layer.key); named != variants_.end()) {
      for (const Offer& offer : list.offers()) {
        if (offer.text() == named->second) {
          return offer;
        }
      }
    }
    const bool references = list.only_references() || is_recurrent(layer.spec);
    const Offer* best = nullptr;
    std::size_t best_matches = 0;
    for (const Offer& offer : list.offers()) {
      if (offer.is_reference() && !references) {
        continue;
      }
      if (best == nullptr) {
        best = &offer;
        best_matches = matches(layer, offer);
        continue;
      }
      const bool equal =
          !chooses_layouts(layer.spec) || offer.implementation == best->implementation;
      const std::size_t found = equal && !offer.arguments.empty() ? matches(layer, offer) : 0;
      if (found > best_matches) {
        best = &offer;
        best_matches = found;
      }
    }
    PLUMB_CHECK(best != nullptr);
    return *best;
  }

  /// Counts the operands that lie as an offer wants them.
  std::size_t matches(const Layer& layer, const Offer& offer) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < offer.arguments.size(); ++i) {
      const Argument& argument = offer.arguments[i];
      if (argument.role != Buffer::Role::kInput || argument.weight) {
        continue;
      }
      const ValueId value = operand_of(layer, argument.operand);
      Buffer buffer;
      buffer.view = argument.view;
      buffer.layout = offer.layouts[i];
      count += !is_constant(value) && find(value, buffer) != nullptr ? 1U : 0U;
    }
    return count;
  }

  std::size_t buffer_for(const Layer& layer, const Buffer& buffer) {
    if (buffer.role != Buffer::Role::kInput) {
      Buffer own = buffer;
      own.role = Buffer::Role::kIntermediate;
      return add_buffer(std::move(own));
    }
    if (buffer.bytes == 0) {  // an operand left out
      Buffer none;
      none.role = Buffer::Role::kIntermediate;
      return add_buffer(std::move(none));
    }
    const ValueId value = operand_of(layer, buffer.operand);
    return is_constant(value) ? add_operand(value, buffer) : found_or_made(value, buffer);
  }

  /// Finds a place where the value lies as wanted; null if there is none.
  const HeldValue* find(ValueId value, const Buffer& wanted) const {
    if (wanted.pack) {
      return nullptr;
    }
    const bool dense_wanted = same_bytes(wanted.view, wanted.layout);
    for (const HeldValue& held : held_.at(value)) {
      if ((dense_wanted && held.dense()) ||
          (held.view == wanted.view && same_bytes(held.layout, wanted.layout))) {
        return &held;
      }
    }
    return nullptr;
  }

  std::size_t found_or_made(ValueId value, const Buffer& wanted) {
    require_held(value);
    if (const HeldValue* held = find(value, wanted)) {
      return held->buffer;
    }
    const HeldValue first = held_[value].front();
    HeldValue made{0, wanted.view, wanted.layout};
    if (!wanted.pack && first.view == wanted.view) {
      made.buffer = add_reorder(first.buffer, first.layout, wanted.layout);
    } else if (same_bytes(wanted.view, wanted.layout) && !wanted.pack) {
      return dense(value).buffer;
    } else {
      std::size_t source = dense(value).buffer;
      if (wanted.pack) {
        source = add_packing(source, wanted);
      }
      made.buffer = same_bytes(wanted.view, wanted.layout)
                        ? source
                        : add_reorder(source, wanted.view, wanted.layout);
      if (wanted.pack) {
        return made.buffer;  // no descriptor says how it was packed: it serves nobody else
      }
    }
    held_[value].push_back(made);
    return made.buffer;
  }

  /// Finds or makes the dense value. By value: making may move what lies elsewhere.
  HeldValue dense(ValueId value) {
    if (is_constant(value) && held_[value].empty()) {
      Buffer buffer;
      buffer.bytes = static_cast<std::size_t>(byte_size(graph_.values[value].type).value);
      held_[value].push_back({add_operand(value, buffer), {}, {}});
    }
    require_held(value);
    for (const HeldValue& held : held_[value]) {
      if (held.dense()) {
        return held;
      }
    }
    const HeldValue first = held_[value].front();
    HeldValue made{add_reorder(first.buffer, first.layout, first.view), first.view, first.view};
    held_[value].push_back(made);
    return made;
  }

  std::size_t add_reorder(std::size_t source,
                          const dnnl::memory::desc& from,
                          const dnnl::memory::desc& to) {
    Buffer buffer;
    buffer.role = Buffer::Role::kIntermediate;
    buffer.view = to;
    buffer.layout = to;
    buffer.bytes = to.get_size();
    const std::size_t result = add_buffer(std::move(buffer));
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc description(
        device_.engine, from, device_.engine, to, attributes);
    PrimitiveStep step;
    step.primitive = make_primitive(description, model_.plan);
    step.arguments = {{DNNL_ARG_FROM, source, from, 0}, {DNNL_ARG_TO, result, to, 0}};
    append({source, result}, std::move(step));
    ++model_.reorders;
    return result;
  }

  std::size_t add_packing(std::size_t source, const Buffer& wanted) {
    Buffer buffer;
    buffer.role = Buffer::Role::kIntermediate;
    buffer.view = wanted.view;
    buffer.layout = wanted.view;
    buffer.bytes = wanted.view.get_size();
    const std::size_t result = add_buffer(std::move(buffer));
    append({source, result},
           KernelStep([pack = wanted.pack, source, result](std::span<std::byte* const> buffers) {
             pack(buffers[source], buffers[result]);
           }));
    return result;
  }

  /// Adds a part's steps with its buffers' numbers changed to the model's.
  void append_steps(const LayerPlan& part, const std::vector<std::size_t>& map) {
    model_.plan.scratchpad_bytes = std::max(model_.plan.scratchpad_bytes, part.scratchpad_bytes);
    for (const Step& step : part.steps) {
      if (const auto* kernel = std::get_if<KernelStep>(&step)) {
        append(map,
               KernelStep([kernel = *kernel, map, own = std::vector<std::byte*>(map.size())](
                              std::span<std::byte* const> buffers) mutable {
                 for (std::size_t i = 0; i < map.size(); ++i) {
                   own[i] = buffers[map[i]];
                 }
                 kernel(own);
               }));
        continue;
      }
      auto primitive = std::get<PrimitiveStep>(step);
      std::vector<std::size_t> touched;
      for (PrimitiveStep::Argument& argument : primitive.arguments) {
        argument.buffer = map[argument.buffer];
        touched.push_back(argument.buffer);
      }
      append(touched, std::move(primitive));
    }
  }

  void append(const std::vector<std::size_t>& touched, Step step) {
    for (const std::size_t buffer : touched) {
      touch(buffer, model_.plan.steps.size());
    }
    model_.plan.steps.push_back(std::move(step));
  }

  void touch(std::size_t buffer, std::size_t step) {
    const auto [at, added] = lives_.try_emplace(buffer, Lifetime{0, step, step});
    at->second.last = step;
  }

  /// Gives results that are not needed at the same time the same memory.
  void place_buffers() {
    for (const std::size_t output : model_.plan.outputs) {
      touch(output, model_.plan.steps.size());
    }
    std::vector<std::size_t> placed;
    std::vector<Lifetime> lifetimes;
    for (auto& [number, life] : lives_) {
      const Buffer& buffer = model_.plan.buffers[number];
      if (buffer.role == Buffer::Role::kIntermediate && !buffer.pack && !apart_.contains(number)) {
        placed.push_back(number);
        life.bytes = buffer.bytes;
        lifetimes.push_back(life);
      }
    }
    const MemoryPlan memory = plan_memory(lifetimes);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      model_.plan.buffers[placed[i]].arena = memory.offsets[i];
    }
    model_.plan.arena_bytes = memory.bytes;
  }

  std::size_t add_buffer(Buffer buffer) {
    model_.plan.buffers.push_back(std::move(buffer));
    return model_.plan.buffers.size() - 1;
  }

  /// Adds a buffer that bind() fills with an input or a constant.
  std::size_t add_operand(ValueId value, Buffer buffer) {
    const auto [at, added] = operands_.try_emplace(value, model_.operands.size());
    if (added) {
      model_.operands.push_back(value);
    }
    buffer.role = Buffer::Role::kInput;
    buffer.operand = at->second;
    buffer.weight = is_constant(value);
    if (buffer.bytes == 0) {
      buffer.bytes = static_cast<std::size_t>(byte_size(graph_.values[value].type).value);
    }
    return add_buffer(std::move(buffer));
  }

  [[nodiscard]] bool is_constant(ValueId value) const {
    const std::optional<LayerId> producer = graph_.values[value].producer;
    if (producer) {
      return graph_.layers[*producer].role == Layer::Role::kFolded;
    }
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), value) == graph_.inputs.end();
  }

  [[nodiscard]] static ValueId operand_of(const Layer& layer, std::size_t index) {
    PLUMB_CHECK(index < layer.inputs.size() && layer.inputs[index].has_value());
    return *layer.inputs[index];
  }

  void require_held(ValueId value) const {
    if (held_.at(value).empty()) {
      throw Unsupported(fmt::format("value '{}' is computed by nothing that is executed",
                                    graph_.values[value].name));
    }
  }

  void hold(const Layer& layer, std::size_t output, HeldValue value) {
    held_.at(layer.outputs.at(output)).push_back(std::move(value));
  }

  const OfferList& offers(const Layer& layer) {
    const auto found = offers_.find(layer.key);
    return found != offers_.end()
               ? found->second
               : offers_.emplace(layer.key, offers_of(layer.spec, device_)).first->second;
  }

  /// Builds an offer once for all layers of a key: primitives hold no operands.
  const LayerPlan& built(const Layer& layer, const Offer& offer) {
    const std::pair<std::string, std::string> name(layer.key.text, offer.text());
    const auto found = built_.find(name);
    if (found != built_.end()) {
      return found->second;
    }
    LayerPlan& part = built_.emplace(name, offer.build()).first->second;
    model_.plan.creation += part.creation;
    return part;
  }

  const Graph& graph_;
  const LayerVariants& variants_;
  const Device& device_;
  ModelPlan model_;
  std::vector<std::vector<HeldValue>> held_;  // by value; first: as it was made
  std::map<ValueId, std::size_t> operands_;   // index into model_.operands
  std::map<std::size_t, Lifetime> lives_;     // of buffers, in steps
  std::set<std::size_t> apart_;               // buffers that have memory of their own
  std::unordered_map<LayerKey, OfferList> offers_;
  std::map<std::pair<std::string, std::string>, LayerPlan> built_;
};

}  // namespace

ModelPlan plan_model(const Graph& graph, const LayerVariants& variants, const Device& device) {
  return Composer(graph, variants, device).compose();
}

}  // namespace plumb::onednn
