// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/model_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/recurrent_shape.hpp"
#include "runners/onednn/descriptor.hpp"
#include "runners/onednn/held_value.hpp"
#include "runners/onednn/openmp_threads.hpp"
#include "runners/onednn/plan_builder.hpp"
#include "runners/onednn/strided_layout.hpp"

namespace plumb::onednn {
namespace {

/// Returns whether the library chooses the layout of an operator's operands. Otherwise it takes
/// them as they come.
bool chooses_layouts(const LayerSpec& spec) {
  constexpr std::array<std::string_view, 6> kOps{
      "conv", "conv_transpose", "gemm", "matmul", "conv_integer", "matmul_integer"};
  return std::find(kOps.begin(), kOps.end(), spec.op) != kOps.end();
}

/// Returns the kind of primitive that an offer is made of where a layer has several, "" elsewhere.
std::string_view kind_of(const Offer& offer) {
  const std::string_view details = offer.details;
  return details.starts_with("kind=") ? details.substr(0, details.find(';')) : "";
}

/// Returns whether a layer computes each output element from the elements at the same place. They
/// are all of one type, and single numbers may be among the operands.
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

/// Returns whether an offer takes all operands dense.
bool is_dense(const Offer& offer) {
  for (std::size_t i = 0; i < offer.arguments.size(); ++i) {
    if (!same_bytes(offer.arguments[i].view, offer.layouts[i])) {
      return false;
    }
  }
  return true;
}

class Composer {
 public:
  Composer(const Graph& graph,
           const LayerVariants& variants,
           const Device& device,
           LayerParts& parts,
           std::size_t lanes)
      : graph_(graph), variants_(variants), parts_(parts), builder_(graph, device, lanes) {
    held_.resize(graph.values.size());
  }

  ModelPlan compose() {
    for (const ValueId input : graph_.inputs) {
      held_[input].push_back({builder_.add_operand(input, {}), {}, {}});
    }
    for (LayerId id = 0; id < graph_.layers.size(); ++id) {
      const Layer& layer = graph_.layers[id];
      builder_.begin_layer(id);
      try {
        add(layer);
      } catch (const Unsupported& refusal) {
        throw Unsupported(fmt::format("layer {}: {}", layer.name, refusal.what()));
      }
    }
    builder_.begin_layer(std::nullopt);
    std::vector<std::size_t> outputs;
    for (const ValueId output : graph_.outputs) {
      outputs.push_back(dense(output).buffer);
    }
    return builder_.finish(std::move(outputs));
  }

 private:
  void add(const Layer& layer) {
    switch (layer.role) {
      case Layer::Role::kFolded:
        return;
      case Layer::Role::kUnsupported:
        throw Unsupported(layer.reason);
      case Layer::Role::kView:
        hold(layer, 0, viewed(layer));
        return;
      case Layer::Role::kCompute:
        add_computation(layer);
        return;
    }
  }

  /// Names the operand's bytes by other extents, as they lie if those extents can say how.
  HeldValue viewed(const Layer& layer) {
    const ValueId value = operand_of(layer, 0);
    const TensorType& from = graph_.values[value].type;
    const TensorType& to = graph_.values[layer.outputs.at(0)].type;
    if (!held_.at(value).empty() && from.dtype == to.dtype && !to.dims.empty() &&
        lies_strided(held_[value].front(), from.dims)) {
      const HeldValue& held = held_[value].front();
      if (const auto layout = reshaped(held.layout, to.dims)) {
        return {held.buffer, onednn::dense(to), *layout};
      }
    }
    return {dense(value).buffer, {}, {}};
  }

  /// Transposes what lies strided without making it dense before.
  bool add_strided_transpose(const Layer& layer) {
    if (layer.spec.op != "transpose" || held_.at(operand_of(layer, 0)).empty()) {
      return false;
    }
    const HeldValue held = held_[operand_of(layer, 0)].front();
    if (!lies_strided(held, layer.spec.inputs.at(0)->dims)) {
      return false;
    }
    const StridedTranspose plan = strided_transpose(held.layout, layer.spec.integers("perm"));
    builder_.set_variant("impl=reorder;layout=as_it_lies");
    const std::size_t result = builder_.add_move(held.buffer, plan.from, plan.layout);
    hold(layer, 0, {result, onednn::dense(layer.spec.outputs.at(0)), plan.layout});
    return true;
  }

  void add_computation(const Layer& layer) {
    if (layer.outputs.size() != layer.spec.outputs.size()) {
      throw Unsupported("the layer's outputs are not those of its key");
    }
    if (add_strided_transpose(layer)) {
      return;
    }
    if (const std::optional<HeldValue> common = common_layout(layer)) {
      add_as_it_lies(layer, *common);
      return;
    }
    const Offer& offer = choose(layer);
    builder_.set_variant(offer.text());
    const LayerPlan& part = built(layer, offer);
    std::vector<std::size_t> map;
    for (const Buffer& buffer : part.buffers) {
      map.push_back(buffer_for(layer, buffer));
    }
    builder_.add_part(part, map);
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
      if (layer.spec.inputs[i]->dims != layer.spec.outputs[0].dims || builder_.is_constant(value)) {
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
    builder_.set_variant(offer->text());
    const LayerPlan& part = built(layer, *offer);
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
          !chooses_layouts(layer.spec) ||
          (offer.implementation == best->implementation && kind_of(offer) == kind_of(*best));
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
      count += !builder_.is_constant(value) && find(value, buffer) != nullptr ? 1U : 0U;
    }
    return count;
  }

  std::size_t buffer_for(const Layer& layer, const Buffer& buffer) {
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
    const ValueId value = operand_of(layer, buffer.operand);
    return builder_.is_constant(value) ? builder_.add_operand(value, buffer)
                                       : found_or_made(value, buffer);
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
        return made.buffer;  // no descriptor says how it was packed: it serves nobody else
      }
    }
    held_[value].push_back(made);
    return made.buffer;
  }

  /// Finds or makes the dense value. By value: making may move what lies elsewhere.
  HeldValue dense(ValueId value) {
    if (builder_.is_constant(value) && held_[value].empty()) {
      Buffer buffer;
      buffer.bytes = static_cast<std::size_t>(byte_size(graph_.values[value].type).value);
      held_[value].push_back({builder_.add_operand(value, buffer), {}, {}});
    }
    require_held(value);
    for (const HeldValue& held : held_[value]) {
      if (held.dense()) {
        return held;
      }
    }
    const HeldValue first = held_[value].front();
    HeldValue made{
        builder_.add_reorder(first.buffer, first.layout, first.view), first.view, first.view};
    held_[value].push_back(made);
    return made;
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

  const OfferList& offers(const Layer& layer) { return parts_.offers(layer); }

  const LayerPlan& built(const Layer& layer, const Offer& offer) {
    const LayerPlan& part = parts_.built(layer, offer);
    if (counted_.insert(&part).second) {
      builder_.add_creation(part.creation);
    }
    return part;
  }

  const Graph& graph_;
  const LayerVariants& variants_;
  LayerParts& parts_;
  PlanBuilder builder_;
  std::vector<std::vector<HeldValue>> held_;  // by value; first: as it was made
  std::set<const LayerPlan*> counted_;        // whose creation is in the plan's
};

}  // namespace

ModelPlan plan_model(const Graph& graph,
                     const LayerVariants& variants,
                     const Device& device,
                     LayerParts& parts,
                     std::size_t lanes) {
  return Composer(graph, variants, device, parts, lanes).compose();
}

ModelPlan plan_branches(const Graph& graph, const LayerVariants& variants, const Device& device) {
  const std::optional<int> threads = openmp_threads();
  if (!threads) {
    throw Unsupported("the library's threads are not OpenMP's: they cannot be parted");
  }
  if (*threads < 2) {
    throw Unsupported("one thread cannot be parted between branches: use --threads");
  }
  const std::size_t lanes = useful_lanes(graph, static_cast<std::size_t>(*threads));
  if (lanes < 2) {
    throw Unsupported("nine tenths of the work or more lie on one path: there are no branches");
  }
  const int share = *threads / static_cast<int>(lanes);
  const OpenmpThreads parted(share);  // primitives remember for how many threads they were made
  LayerParts parts(device);
  ModelPlan model = plan_model(graph, variants, device, parts, lanes);
  model.plan.threads_of_lane = share;
  return model;
}

}  // namespace plumb::onednn
