// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/training/measured_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/error.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"

namespace plumb::analysis {

ExchangeSchedule schedule_exchanges(std::span<const TimedLayer> layers,
                                    const Communication& communication) {
  if (!(communication.rate.value > 0.0) || communication.bucket.value < 1 ||
      !(communication.latency >= Seconds(0.0))) {
    throw Error(Error::Kind::kUser,
                "communication needs a rate and a bucket above 0, and a latency of 0 or more");
  }
  ExchangeSchedule schedule;
  Bytes filled;
  Seconds now{};
  Seconds updates{};
  const auto exchange = [&] {
    if (filled.value > 0) {
      const Seconds free = schedule.exchanges.empty() ? Seconds{} : schedule.exchanges.back().end;
      const Seconds takes = communication.latency + filled / communication.rate;
      const Seconds begin = std::max(now, free);
      schedule.exchanges.push_back({filled, now, begin, begin + takes});
      schedule.communication += takes;
      filled = {};
    }
  };
  for (const TimedLayer& layer : layers) {
    if (layer.update) {
      updates += layer.time;
      continue;
    }
    now += layer.time;
    filled += layer.gradients;
    if (filled >= communication.bucket) {
      exchange();
    }
  }
  exchange();
  const Seconds last = schedule.exchanges.empty() ? Seconds{} : schedule.exchanges.back().end;
  schedule.computation = now + updates;
  schedule.overlapped = std::max(now, last) + updates;
  return schedule;
}

EvaluationSchedule schedule_evaluations(std::size_t epochs, Seconds epoch, Seconds evaluation) {
  EvaluationSchedule schedule;
  for (std::size_t done = 1; done <= epochs; ++done) {
    schedule.in_turn += epoch + evaluation;
    const Seconds trained = static_cast<double>(done) * epoch;
    schedule.asynchronous = std::max(schedule.asynchronous, trained) + evaluation;
  }
  return schedule;
}

namespace {

constexpr std::size_t kCaps = 16;

bool is_update(const model::Layer& layer) {
  return layer.role == model::Layer::Role::kCompute && model::is_update(layer.spec);
}

}  // namespace

MeasuredStep measured_step(const model::Graph& graph, const ResultSet& results) {
  MeasuredStep step;
  if (std::none_of(graph.layers.begin(), graph.layers.end(), is_update)) {
    step.why_not = "it is not trained: run with --training";
    return step;
  }
  step.times.resize(graph.layers.size());
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    if (graph.layers[id].role != model::Layer::Role::kCompute) {
      continue;
    }
    const auto time = served_time(results, graph.layers[id].key);
    if (!time) {
      step.why_not = fmt::format("no time for '{}'", graph.layers[id].name);
      return step;
    }
    step.times[id] = time->time.median;
    step.total += step.times[id];
  }
  return step;
}

std::vector<TimedLayer> timed_layers(const model::Graph& graph, const MeasuredStep& step) {
  const std::vector<model::ValueId> root = model::shared_bytes(graph);
  std::set<model::ValueId> gradients;
  for (const model::Layer& layer : graph.layers) {
    if (is_update(layer)) {
      const model::UpdateShape shape(layer.spec);
      for (std::size_t tensor = 0; tensor < shape.tensors(); ++tensor) {
        gradients.insert(root[layer.inputs.at(shape.gradient(tensor)).value()]);
      }
    }
  }
  std::vector<TimedLayer> layers;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    TimedLayer timed{step.times.at(id), {}, is_update(graph.layers[id])};
    for (const model::ValueId output : graph.layers[id].outputs) {
      if (root[output] == output && gradients.contains(output)) {
        timed.gradients += byte_size(graph.values[output].type);
      }
    }
    layers.push_back(timed);
  }
  return layers;
}

std::vector<PricedCheckpoints> price_checkpoints(const model::Graph& graph,
                                                 const MeasuredStep& step) {
  std::vector<double> costs;
  for (const Seconds time : step.times) {
    costs.push_back(time.count());
  }
  const std::vector<rewrite::StepChain> chains = rewrite::chains_of_step(graph, costs);
  std::vector<PricedCheckpoints> front;
  for (const auto& plan : rewrite::checkpoint_front(chains.front().stages, kCaps)) {
    std::vector<rewrite::CheckpointPlan> plans;
    plans.reserve(chains.size());
    for (const rewrite::StepChain& chain : chains) {
      plans.push_back(rewrite::cheapest_checkpoints(chain.stages, plan.peak)
                          .value_or(rewrite::smallest_checkpoints(chain.stages)));
    }
    const rewrite::CheckpointedGraph made = rewrite::checkpointed_graph(graph, chains, plans);
    PricedCheckpoints priced{made.repeated, model::compute_memory(made.graph), {}};
    for (const model::LayerId origin : made.origins) {
      priced.recomputation += step.times[origin];
    }
    priced.recomputation = std::max(Seconds{}, priced.recomputation - step.total);
    // Both numbers are those of the graph, so a plan may turn out no better than one before it.
    while (!front.empty() && front.back().memory.peak >= priced.memory.peak &&
           front.back().recomputation >= priced.recomputation) {
      front.pop_back();
    }
    if (front.empty() || priced.recomputation < front.back().recomputation) {
      front.push_back(priced);
    }
  }
  return front;
}

}  // namespace plumb::analysis
