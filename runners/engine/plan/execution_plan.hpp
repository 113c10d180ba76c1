// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/exec/schedule.hpp"

namespace plumb::engine {

/// One piece of memory that a plan needs, once for each slot. Backends add its layout.
struct PlanBuffer {
  /// Buffers of its plan that a step reads and writes. A buffer may be among both.
  struct Uses {
    std::vector<std::size_t> reads;
    std::vector<std::size_t> writes;
  };

  enum class Role { kInput, kOutput, kIntermediate };
  Role role = Role::kInput;
  std::size_t operand = 0;  ///< index into the layer's inputs or outputs; of a model: its operands
  bool updated = false;     ///< an input that the plan also writes: an output takes its place
  bool weight = false;      ///< a constant operand, or made of such: each slot has its own
  std::size_t bytes = 0;    ///< to allocate, padding included; 0: an operand left out
  std::optional<std::size_t>
      arena;  ///< of an intermediate: its offset in the plan's shared block; absent: own memory
};

/// Plan of a layer or a model: what to allocate and what to run, in order.
template <typename BufferType, typename StepType>
struct ExecutionPlan {
  using Buffer = BufferType;  ///< a PlanBuffer
  using Step = StepType;

  std::string implementation;
  std::vector<Buffer> buffers;
  std::vector<std::size_t>
      outputs;  ///< buffer of each output; a view's output is its input's buffer
  std::vector<Step> steps;
  std::size_t workspace_bytes = 0;  ///< one for all slots and all steps of a lane or stream
  std::size_t arena_bytes = 0;      ///< of each slot's block for the buffers with `arena`
  Seconds creation{};               ///< to make the steps, caches off
};

/// Error for a layer that cannot be executed here, with the reason. It becomes an Outcome in the
/// backend and never leaves it.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the same buffers in another, larger plan. Buffer i of the first is buffer map[i] there.
[[nodiscard]] PlanBuffer::Uses mapped(const PlanBuffer::Uses& buffers,
                                      const std::vector<std::size_t>& map);

/// Returns, for each step, the earlier steps that it must follow, in ascending order. Those are the
/// steps that wrote what it uses last, or that read since then what it writes.
[[nodiscard]] StepNeeds step_needs(std::span<const PlanBuffer::Uses> steps);

/// Returns the steps that use each buffer, in ascending order.
[[nodiscard]] std::map<std::size_t, std::vector<std::size_t>> buffer_users(
    std::span<const PlanBuffer::Uses> steps);

/// Plan of a whole model, with the origin of its steps.
template <typename Plan>
struct ModelPlan {
  Plan plan;  ///< its buffers' operands are indices into `operands`
  std::vector<worker::Backend::PreparedModel::Step> origins;  ///< of plan.steps, one to one
  std::vector<PlanBuffer::Uses> uses;                         ///< of plan.steps, one to one
  std::vector<std::string> variants;  ///< of the graph's layers, one to one; empty: no step
  std::vector<model::ValueId> operands;
  std::size_t reorders = 0;  ///< steps that only change a layout
  Bytes reordered;           ///< that they read and write
};

/// Cache of layers' variant builders, of the plans that they built, and of refusals. It serves all
/// layers of a key, and plan after plan where steps hold no operands. A builder has its variant's
/// name as `text`.
template <typename Builder, typename Plan>
class LayerParts {
 public:
  /// Lists the ways to execute a layer, the first choice first. Throws Unsupported.
  using List = std::function<std::vector<Builder>(const model::LayerSpec&)>;
  /// Finds a variant that no list has. Throws Unsupported where it cannot be executed.
  using Find = std::function<std::optional<Builder>(const model::LayerSpec&, const std::string&)>;

  explicit LayerParts(List list, Find find_unlisted = {})
      : list_(std::move(list)), find_unlisted_(std::move(find_unlisted)) {}

  [[nodiscard]] static std::string name_of(const Builder& builder) {
    return std::invoke(&Builder::text, builder);
  }

  /// Lists the ways to execute a layer. Throws Unsupported.
  [[nodiscard]] const std::vector<Builder>& builders(const model::Layer& layer) {
    const auto found = builders_.find(layer.key);
    return found != builders_.end() ? found->second
                                    : builders_.emplace(layer.key, list_(layer.spec)).first->second;
  }

  /// Returns the builder of a variant. Null: the layer has none of that name. Throws Unsupported.
  [[nodiscard]] const Builder* named(const model::Layer& layer, const std::string& variant) {
    for (const Builder& builder : builders(layer)) {
      if (name_of(builder) == variant) {
        return &builder;
      }
    }
    const std::pair name(layer.key.text, variant);
    auto found = unlisted_.find(name);
    if (found == unlisted_.end() && find_unlisted_) {
      if (std::optional<Builder> builder = find_unlisted_(layer.spec, variant)) {
        found = unlisted_.emplace(name, *std::move(builder)).first;
      }
    }
    return found != unlisted_.end() ? &found->second : nullptr;
  }

  /// Returns the plan of a builder, made by `build(builder, refusal)` at the first call. Null: that
  /// made none, and `refusal` says why. Throws what it throws.
  template <typename Build>
  [[nodiscard]] const Plan* built(const model::Layer& layer,
                                  const Builder& builder,
                                  const Build& build,
                                  std::string& refusal) {
    const std::pair name(layer.key.text, name_of(builder));
    auto found = built_.find(name);
    if (found == built_.end()) {
      std::optional<Plan> plan = build(builder, refusal);
      found = built_.emplace(name, std::pair(std::move(plan), refusal)).first;
    }
    refusal = found->second.second;
    return found->second.first ? &*found->second.first : nullptr;
  }

  /// Frees the builders, of which a layer has up to dozens with descriptors of some kilobytes each.
  /// What they built is kept.
  void release_builders() {
    builders_.clear();
    unlisted_.clear();
  }

 private:
  using Name = std::pair<std::string, std::string>;  // key and variant

  List list_;
  Find find_unlisted_;
  std::unordered_map<model::LayerKey, std::vector<Builder>> builders_;
  std::map<Name, Builder> unlisted_;
  std::map<Name, std::pair<std::optional<Plan>, std::string>> built_;
};

}  // namespace plumb::engine
