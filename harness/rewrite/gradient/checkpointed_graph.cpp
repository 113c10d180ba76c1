// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/checkpointed_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::rewrite {
namespace {

using model::Layer;
using model::LayerId;
using model::ValueId;

bool is_executed(const Layer& layer) {
  return layer.role == Layer::Role::kCompute || layer.role == Layer::Role::kView;
}

/// Returns for each layer whether a value depends on it.
std::vector<bool> layers_before(const model::Graph& graph, ValueId value) {
  std::vector<bool> before(graph.layers.size());
  std::vector<bool> needed(graph.values.size());
  needed[value] = true;
  for (LayerId id = graph.layers.size(); id-- > 0;) {
    const Layer& layer = graph.layers[id];
    before[id] = is_executed(layer) && std::any_of(layer.outputs.begin(),
                                                   layer.outputs.end(),
                                                   [&](ValueId output) { return needed[output]; });
    for (const std::optional<ValueId>& input : layer.inputs) {
      if (before[id] && input) {
        needed[*input] = true;
      }
    }
  }
  return before;
}

/// Losses of the micro-batches, whose sum is a step's first output.
struct Losses {
  std::vector<LayerId> layers;  ///< that make them, in order
  std::vector<ValueId> values;  ///< the losses and their sums
};

Losses find_losses(const model::Graph& step) {
  Losses losses{{}, {step.outputs.at(0)}};
  for (std::size_t i = 0; i < losses.values.size(); ++i) {
    const LayerId id = step.values[losses.values[i]].producer.value();
    const Layer& layer = step.layers[id];
    if (layer.spec.op == "binary" && layer.spec.text("fn") == "add") {
      losses.values.push_back(layer.inputs.front().value());
      losses.values.push_back(layer.inputs.back().value());
    } else {
      losses.layers.push_back(id);
    }
  }
  std::sort(losses.layers.begin(), losses.layers.end());
  return losses;
}

/// Forward pass of a step, with who reads its values.
class ForwardPass {
 public:
  explicit ForwardPass(const model::Graph& step)
      : step_(step),
        root_(model::shared_bytes(step)),
        losses_(find_losses(step)),
        forward_(layers_before(step, step.outputs.at(0))),
        shared_(step.values.size()) {
    for (const ValueId loss : losses_.values) {
      shared_[root_[loss]] = true;
    }
    std::vector<std::size_t> last(step.values.size(), 0);
    read_by_backward_.resize(step.values.size());
    for (LayerId id = 0; id < step.layers.size(); ++id) {
      for (const std::optional<ValueId>& input : step.layers[id].inputs) {
        if (input && forward_[id]) {
          const auto maker = step.values[root_[*input]].producer;
          shared_[root_[*input]] =
              shared_[root_[*input]] || (maker && micro_batch(*maker) != micro_batch(id));
          last[root_[*input]] = id;
        } else if (input && is_executed(step.layers[id])) {
          read_by_backward_[root_[*input]] = true;
        }
      }
    }
    last_reader_ = std::move(last);
  }

  [[nodiscard]] bool contains(LayerId id) const { return forward_[id]; }
  [[nodiscard]] std::size_t micro_batches() const { return losses_.layers.size(); }
  /// Returns the number of the loss that a layer was written for.
  [[nodiscard]] std::size_t micro_batch(LayerId id) const {
    const auto& layers = losses_.layers;
    const auto next = std::lower_bound(layers.begin(), layers.end() - 1, id);
    return static_cast<std::size_t>(next - layers.begin());
  }
  [[nodiscard]] ValueId root(ValueId value) const { return root_[value]; }
  [[nodiscard]] bool is_read_by_backward(ValueId root) const { return read_by_backward_[root]; }
  [[nodiscard]] LayerId last_reader(ValueId root) const { return last_reader_[root]; }
  [[nodiscard]] std::int64_t bytes(ValueId value) const {
    return byte_size(step_.values[value].type).value;
  }

  /// Lists the values that a layer makes for its micro-batch, without those that share the bytes of
  /// others.
  [[nodiscard]] std::vector<ValueId> made_by(LayerId id) const {
    std::vector<ValueId> made;
    for (const ValueId output : step_.layers[id].outputs) {
      if (root_[output] == output && !shared_[output]) {
        made.push_back(output);
      }
    }
    return made;
  }

 private:
  const model::Graph& step_;
  std::vector<ValueId> root_;
  Losses losses_;
  std::vector<bool> forward_;
  std::vector<bool> shared_;  ///< by root: losses and their sums, and what several batches read
  std::vector<LayerId> last_reader_;  ///< of the forward pass, by root
  std::vector<bool> read_by_backward_;
};

/// Returns the costs of the layers of a stage without those that only its result needs.
double cost_without_result(const model::Graph& step,
                           const ForwardPass& forward,
                           const std::vector<LayerId>& layers,
                           ValueId result,
                           std::span<const double> costs) {
  std::set<ValueId> needed;
  double cost = 0.0;
  for (auto id = layers.rbegin(); id != layers.rend(); ++id) {
    const Layer& layer = step.layers[*id];
    const bool wanted =
        std::any_of(layer.outputs.begin(), layer.outputs.end(), [&](ValueId output) {
          const ValueId root = forward.root(output);
          return needed.contains(output) ||
                 (root == output && root != result && forward.is_read_by_backward(root));
        });
    if (!wanted) {
      continue;
    }
    cost += costs[*id];
    for (const std::optional<ValueId>& input : layer.inputs) {
      if (input) {
        needed.insert(*input);
      }
    }
  }
  return cost;
}

/// Cuts the forward pass of a micro-batch.
CheckpointPlan::Chain chain_of_micro_batch(const model::Graph& step,
                                           const ForwardPass& forward,
                                           std::size_t number,
                                           std::span<const double> costs) {
  CheckpointPlan::Chain chain;
  std::vector<LayerId> layers;
  std::int64_t before = 0;  // bytes of the result of the stage before
  const auto end_stage = [&](ValueId result) {
    CheckpointPlan::Stage stage;
    for (const LayerId id : layers) {
      stage.recompute += costs[id];
      for (const ValueId made : forward.made_by(id)) {
        stage.inner +=
            made != result && forward.is_read_by_backward(made) ? forward.bytes(made) : 0;
      }
    }
    stage.recompute_last = cost_without_result(step, forward, layers, result, costs);
    stage.result = forward.bytes(result);
    stage.backward = stage.result + before;
    before = stage.result;
    chain.stages.push_back(stage);
    chain.layers.push_back(std::move(layers));
    chain.results.push_back(result);
    layers.clear();
  };
  std::set<ValueId> alive;
  for (LayerId id = 0; id < step.layers.size(); ++id) {
    if (!forward.contains(id) || forward.micro_batch(id) != number) {
      continue;
    }
    layers.push_back(id);
    for (const ValueId made : forward.made_by(id)) {
      alive.insert(made);
    }
    std::erase_if(alive, [&](ValueId value) { return forward.last_reader(value) <= id; });
    // To keep a value that no gradient reads would only take memory.
    if (alive.size() == 1 && forward.is_read_by_backward(*alive.begin()) &&
        (chain.results.empty() || chain.results.back() != *alive.begin())) {
      end_stage(*alive.begin());
    }
  }
  if (!layers.empty()) {
    end_stage(step.layers[layers.back()].outputs.front());
  }
  return chain;
}

/// Writes a step with copies of dropped values.
class Repeater {
 public:
  explicit Repeater(const model::Graph& step)
      : step_(step), forward_(step), dropped_(step.values.size()) {
    result_.graph = step;
    result_.graph.layers.clear();
  }

  /// Drops what a plan recomputes of a chain.
  void drop(const CheckpointPlan::Chain& chain, const CheckpointPlan& plan) {
    for (const CheckpointPlan::Stretch& stretch : plan.stretches) {
      for (std::size_t stage = stretch.first; stretch.recomputed && stage <= stretch.last;
           ++stage) {
        for (const LayerId id : chain.layers[stage]) {
          for (const ValueId made : forward_.made_by(id)) {
            dropped_[made] = made != chain.results[stretch.last];
          }
        }
      }
    }
  }

  TrainingStep::Rewritten run() {
    for (LayerId id = 0; id < step_.layers.size(); ++id) {
      Layer layer = step_.layers[id];
      if (is_executed(layer) && !forward_.contains(id)) {
        for (std::optional<ValueId>& input : layer.inputs) {
          input = input ? std::optional(now(*input)) : std::nullopt;
        }
      }
      append(std::move(layer), id);
    }
    return std::move(result_);
  }

 private:
  /// Returns where a value is for the backward pass, and repeats the layers that make it.
  ValueId now(ValueId value) {
    if (!dropped_[forward_.root(value)]) {
      return value;
    }
    if (const auto found = copies_.find(value); found != copies_.end()) {
      return found->second;
    }
    const LayerId id = step_.values[value].producer.value();
    Layer layer = step_.layers[id];
    for (std::optional<ValueId>& input : layer.inputs) {
      input = input ? std::optional(now(*input)) : std::nullopt;
    }
    layer.name += " again";
    for (ValueId& output : layer.outputs) {
      model::Value copy = step_.values[output];
      copy.name += " again";
      copies_[output] = result_.graph.values.size();
      output = result_.graph.values.size();
      result_.graph.values.push_back(std::move(copy));
    }
    result_.changes += layer.role == Layer::Role::kCompute ? 1 : 0;
    append(std::move(layer), id);
    return copies_.at(value);
  }

  void append(Layer layer, LayerId origin) {
    for (const ValueId output : layer.outputs) {
      result_.graph.values[output].producer = result_.graph.layers.size();
    }
    result_.graph.layers.push_back(std::move(layer));
    result_.origins.push_back(origin);
  }

  const model::Graph& step_;
  ForwardPass forward_;
  std::vector<bool> dropped_;  ///< by root: not kept for the backward pass
  std::map<ValueId, ValueId> copies_;
  TrainingStep::Rewritten result_;
};

}  // namespace

std::vector<CheckpointPlan::Chain> chains_of_step(const model::Graph& step,
                                                  std::span<const double> costs) {
  PLUMB_CHECK(costs.size() == step.layers.size());
  const ForwardPass forward(step);
  std::vector<CheckpointPlan::Chain> chains;
  for (std::size_t number = 0; number < forward.micro_batches(); ++number) {
    chains.push_back(chain_of_micro_batch(step, forward, number, costs));
  }
  return chains;
}

std::vector<double> rough_costs(const model::Graph& graph) {
  std::vector<double> costs;
  for (const Layer& layer : graph.layers) {
    costs.push_back(layer.role == Layer::Role::kCompute ? model::rough_cost(layer.spec) : 0.0);
  }
  return costs;
}

TrainingStep::Rewritten checkpointed_graph(const model::Graph& step,
                                           std::span<const CheckpointPlan::Chain> chains,
                                           std::span<const CheckpointPlan> plans) {
  PLUMB_CHECK(chains.size() == plans.size());
  Repeater repeater(step);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    repeater.drop(chains[i], plans[i]);
  }
  return repeater.run();
}

std::optional<TrainingStep::Rewritten> step_within(const model::Graph& step, Bytes cap) {
  constexpr int kHalvings = 12;  // of the range of caps, to a four-thousandth
  if (!is_step(step)) {
    return std::nullopt;
  }
  const std::vector<CheckpointPlan::Chain> chains = chains_of_step(step, rough_costs(step));
  std::vector<CheckpointPlan> smallest;
  for (const CheckpointPlan::Chain& chain : chains) {
    smallest.push_back(smallest_checkpoints(chain.stages));
  }
  std::int64_t largest_peak = 0;  // of the last plans
  const auto made_under = [&](std::int64_t chain_cap) {
    std::vector<CheckpointPlan> plans;
    largest_peak = 0;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      plans.push_back(cheapest_checkpoints(chains[i].stages, chain_cap).value_or(smallest[i]));
      largest_peak = std::max(largest_peak, plans.back().peak);
    }
    return checkpointed_graph(step, chains, plans);
  };
  const auto fits = [&](const TrainingStep::Rewritten& made) {
    return model::compute_memory(made.graph).total() <= cap;
  };
  TrainingStep::Rewritten all = made_under(std::numeric_limits<std::int64_t>::max());
  if (fits(all)) {
    return all;
  }
  std::int64_t too_much = largest_peak;
  TrainingStep::Rewritten best = made_under(-1);
  if (!fits(best)) {
    return std::nullopt;
  }
  std::int64_t enough = largest_peak;
  for (int i = 0; i < kHalvings; ++i) {
    const std::int64_t middle = enough + (too_much - enough) / 2;
    TrainingStep::Rewritten made = made_under(middle);
    if (fits(made)) {
      best = std::move(made);
      enough = middle;
    } else {
      too_much = middle;
    }
  }
  return best;
}

std::optional<TrainingStep::Rewritten> smallest_step(const model::Graph& step) {
  if (!is_step(step)) {
    return std::nullopt;
  }
  const std::vector<CheckpointPlan::Chain> chains = chains_of_step(step, rough_costs(step));
  std::vector<CheckpointPlan> plans;
  plans.reserve(chains.size());
  for (const CheckpointPlan::Chain& chain : chains) {
    plans.push_back(smallest_checkpoints(chain.stages));
  }
  return checkpointed_graph(step, chains, plans);
}

}  // namespace plumb::rewrite
