// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/key/training_layers.hpp"

namespace plumb::analysis {
namespace {

using model::Layer;
using model::LayerId;
using model::ValueId;

/// Returns whether a layer only adds up gradients, scales them, or gives them another form.
bool passes_on(const Layer& layer) {
  constexpr std::array<std::string_view, 6> kOps{
      "sum", "binary", "transpose", "cast", "eltwise", "loss_scale"};
  return layer.role == Layer::Role::kView ||
         std::find(kOps.begin(), kOps.end(), layer.spec.op) != kOps.end();
}

/// Layers that only weights need: updates, and what computes nothing but gradients of weights.
class WeightLayers {
 public:
  explicit WeightLayers(const model::Graph& graph) : graph_(graph), readers_(graph.values.size()) {
    for (LayerId id = 0; id < graph.layers.size(); ++id) {
      for (const std::optional<ValueId>& input : graph.layers[id].inputs) {
        if (input) {
          readers_[*input].push_back(id);
        }
      }
    }
    for (LayerId id = 0; id < graph.layers.size(); ++id) {
      const Layer& layer = graph.layers[id];
      if (layer.role == Layer::Role::kCompute && model::is_update(layer.spec)) {
        layers_.insert(id);
      }
    }
    const std::vector<LayerId> updates(layers_.rbegin(), layers_.rend());
    for (const LayerId id : updates) {
      const Layer& layer = graph.layers[id];
      const model::UpdateShape shape(layer.spec);
      for (std::size_t tensor = 0; tensor < shape.tensors(); ++tensor) {
        add_maker(layer.inputs.at(shape.gradient(tensor)));
      }
    }
  }

  [[nodiscard]] bool contains(LayerId id) const { return layers_.contains(id); }
  [[nodiscard]] bool empty() const { return layers_.empty(); }

 private:
  void add_maker(std::optional<ValueId> gradient) {
    const std::optional<LayerId> id =
        gradient ? graph_.values[*gradient].producer : std::optional<LayerId>();
    if (!id) {
      return;
    }
    const Layer& layer = graph_.layers[*id];
    for (const ValueId output : layer.outputs) {
      if (std::any_of(readers_[output].begin(), readers_[output].end(), [&](LayerId reader) {
            return !layers_.contains(reader);
          })) {
        return;  // a gradient of data as well
      }
    }
    layers_.insert(*id);
    for (const std::optional<ValueId>& input : layer.inputs) {
      if (passes_on(layer)) {
        add_maker(input);
      }
    }
  }

  const model::Graph& graph_;
  std::vector<std::vector<LayerId>> readers_;  ///< by value
  std::set<LayerId> layers_;
};

/// Returns the steps that take up the whole time of two lanes, one after the other: each begins
/// when the one before it ends, in its lane or because it needs it.
std::vector<PartitionStep> longest_chain(const model::Graph& graph,
                                         const std::vector<PartitionStep>& steps,
                                         const WeightLayers& of_weights) {
  const std::vector<std::vector<std::size_t>> needs = step_needs(graph, steps);
  std::vector<Seconds> end(steps.size());
  std::vector<std::optional<std::size_t>> before(steps.size());
  std::array<std::optional<std::size_t>, 2> latest;  // of each lane
  std::optional<std::size_t> last;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    auto& lane = latest[of_weights.contains(steps[step].layers.back()) ? 1 : 0];
    Seconds begin{};
    const auto wait = [&](std::size_t other) {
      if (end[other] > begin) {
        begin = end[other];
        before[step] = other;
      }
    };
    if (lane) {
      wait(*lane);
    }
    std::for_each(needs[step].begin(), needs[step].end(), wait);
    end[step] = begin + steps[step].time->time.median;
    lane = step;
    last = !last || end[step] > end[*last] ? step : *last;
  }
  std::vector<PartitionStep> chain;
  for (; last; last = before[*last]) {
    chain.push_back(steps[*last]);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace

WhatIfResult weight_gradients_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "gradients of weights and updates on a lane of their own, each layer as fast as it is alone; "
      "not fused, library's choices, hot";
  const WeightLayers of_weights(input.graph);
  if (of_weights.empty()) {
    result.applies = false;
    result.why_not = "the model is not trained: run with --training";
    return result;
  }
  result.why_not = input.why_no_branches();
  if (!result.why_not.empty()) {
    result.applies = false;
    return result;
  }
  std::vector<PartitionStep> steps = input.partition_in({}, PartitionMode::kPlain).steps;
  for (PartitionStep& step : steps) {
    step.time = served_time(input.results, step.key);
    if (!step.time) {
      result.why_not = fmt::format("no time for {}", name_of(input.graph, step.layers));
      return result;
    }
  }
  result.prerequisites = {
      "a processor for each lane: lanes that share the threads leave fewer for each layer"};
  conclude(
      result, sum_steps(steps).time, sum_steps(longest_chain(input.graph, steps, of_weights)).time);
  return result;
}

}  // namespace plumb::analysis
