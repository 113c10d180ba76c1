// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/model_plan.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "harness/results/labels/variant_id.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/engine/plan/graph_planner.hpp"

namespace plumb::cuda {
namespace {

class ModelPlanner final
    : public engine::GraphPlanner<ModelPlanner, ExecutionPlan, VariantBuilder, TensorLayout> {
 public:
  ModelPlanner(const model::Graph& graph,
               const worker::LayerVariants& variants,
               const LayerSource& source,
               Parts& parts,
               bool apart)
      : GraphPlanner(graph, variants, parts), source_(source), apart_(apart) {}

  static constexpr bool kSharesConstants = true;

  static std::optional<ExecutionPlan> build(const VariantBuilder& builder, std::string& refusal) {
    try {
      return builder.build();
    } catch (const Unsupported& words) {
      refusal = words.what();
    } catch (const LibraryRefusal& words) {
      refusal = words.what();
    }
    return std::nullopt;
  }

  static DeviceBuffer buffer_in(const model::TensorType& type, TensorLayout layout) {
    DeviceBuffer buffer;
    buffer.type = type;
    buffer.layout = layout;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
    return buffer;
  }
  static TensorLayout layout_of(const DeviceBuffer& buffer) { return buffer.layout; }
  static TensorLayout dense_form(TensorLayout /*layout*/) { return TensorLayout::kChannelsFirst; }
  static bool is_dense(TensorLayout layout, const model::TensorType& type) {
    return same_order(type.dims, layout, TensorLayout::kChannelsFirst);
  }
  static bool fits(TensorLayout layout, const DeviceBuffer& wanted, const model::TensorType& type) {
    return same_order(type.dims, layout, wanted.layout);
  }
  static bool shares_memory(const ExecutionPlan& part, std::size_t buffer) {
    return !part.buffers[buffer].weight && part.buffers[buffer].bytes > 0;
  }
  static const engine::StepBuffers& uses_of(const ExecutionPlan& /*part*/, const DeviceStep& step) {
    return step.buffers;
  }

  /// A library's choice is not changed. Of built-in kernels, the one that takes its inputs as they
  /// lie needs the fewest reorders.
  const VariantBuilder& preferred(const model::Layer& layer,
                                  const std::vector<VariantBuilder>& list) {
    if (!results::VariantId(list.front().text).is_own()) {
      return list.front();
    }
    return *std::max_element(list.begin(), list.end(), [&](const auto& a, const auto& b) {
      return matches(layer, a) < matches(layer, b);
    });
  }

  std::size_t change_layout(model::ValueId value, const DeviceBuffer& wanted) {
    const Place first = places_of(value).front();
    return reorder(value, first, wanted.layout).buffer;
  }

  DeviceStep reorder_step(const model::TensorType& type, const Place& from, const Place& to) {
    return source_.step(layout_change(type, from.layout, to.layout, 0, 1),
                        {from.buffer, to.buffer});
  }

  void join(const ExecutionPlan& part, const std::vector<std::size_t>& map) {
    for (const DeviceStep& step : part.once) {
      planned().plan.once.push_back(mapped(step, map));
    }
    for (std::size_t i = 0; i < part.buffers.size(); ++i) {
      if (part.buffers[i].updated) {
        planned().plan.buffers.at(map.at(i)).updated = true;
      }
    }
  }

  engine::MemoryPlan place(std::vector<engine::SharedPiece> pieces) {
    if (apart_) {  // steps on other streams may run at any time, so each buffer lives to the end
      for (engine::SharedPiece& piece : pieces) {
        piece.steps = {0, planned().plan.steps.size()};
      }
    }
    return engine::plan_memory(pieces, engine::MemoryPlan::kDeviceAlignment);
  }

 private:
  /// Counts the activations that already lie in the layout that a variant wants.
  [[nodiscard]] std::size_t matches(const model::Layer& layer,
                                    const VariantBuilder& builder) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < builder.inputs.size(); ++i) {
      if (!layer.spec.has_input(i)) {
        continue;
      }
      const model::ValueId value = operand_of(layer, i);
      const std::vector<Place>& places = places_of(value);
      const bool lies = std::any_of(places.begin(), places.end(), [&](const Place& place) {
        return place.layout == builder.inputs[i];
      });
      count += lies && !is_constant(value) ? 1U : 0U;
    }
    return count;
  }

  const LayerSource& source_;
  bool apart_;
};

}  // namespace

ModelPlan plan_model(const model::Graph& graph,
                     const worker::LayerVariants& variants,
                     const LayerSource& source,
                     bool apart) {
  engine::LayerParts<VariantBuilder, ExecutionPlan> parts(source.builders);
  return ModelPlanner(graph, variants, source, parts, apart).plan();
}

}  // namespace plumb::cuda
