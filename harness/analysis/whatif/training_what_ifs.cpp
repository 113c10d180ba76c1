// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"
#include "harness/rewrite/gradient/folded_norms.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

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
  std::vector<PartitionStep> steps = input.partition_in({}, ModelPartition::Mode::kPlain).steps;
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

namespace {

double mebibytes(Bytes bytes) {
  return static_cast<double>(bytes.value) / (1 << 20);
}

}  // namespace

WhatIfResult checkpointing_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "values computed again for the backward pass; not fused, library's choices, hot";
  const std::optional<Bytes> cap = memory_cap_of(input.instance);
  std::optional<rewrite::TrainingStep::Rewritten> small = rewrite::smallest_step(input.graph);
  if (!small) {
    result.applies = false;
    result.why_not = "the model is not trained: run with --training";
    return result;
  }
  if (cap) {
    const Bytes least = model::compute_memory(small->graph).total();
    small = rewrite::step_within(input.graph, *cap);
    if (!small) {
      result.why_not = fmt::format("the step takes {:.1f} MiB at least, and its cap is {:.1f} MiB",
                                   mebibytes(least),
                                   mebibytes(*cap));
      return result;
    }
  }
  std::vector<PartitionStep> before = input.partition_in({}, ModelPartition::Mode::kPlain).steps;
  std::map<model::LayerId, std::size_t> executed;
  for (const model::LayerId origin : small->origins) {
    ++executed[origin];
  }
  std::vector<PartitionStep> after;
  for (PartitionStep& step : before) {
    const std::string name = name_of(input.graph, step.layers);
    step.time = served_time(input.results, step.key);
    if (!step.time) {
      result.layers.clear();
      result.why_not = fmt::format("no time for {}", name);
      return result;
    }
    std::size_t times = 1;
    for (const model::LayerId layer : step.layers) {
      times = std::max(times, executed[layer]);
    }
    after.insert(after.end(), times, step);
    if (times > 1) {
      const Seconds once = step.time->time.median;
      result.layers.push_back(
          {name, step.key, once, static_cast<double>(times) * once, "computed twice"});
    }
  }
  const model::Graph::Memory all = model::compute_memory(input.graph);
  const model::Graph::Memory less = model::compute_memory(small->graph);
  result.mode += fmt::format(
      "; {} layers twice, and results of layers need {:.1f} in place of {:.1f} MiB at once",
      small->changes,
      mebibytes(less.peak),
      mebibytes(all.peak));
  result.prerequisites = {"layers that compute the same when they are executed again"};
  conclude(result, sum_steps(before).time, sum_steps(after).time);
  return result;
}

namespace {

/// Times of the layers of a step, of which one without a time is named.
struct TimedLayers {
  std::vector<PartitionStep> steps;
  std::string missing;  ///< empty: all have a time
};

TimedLayers timed_layers(const model::Graph& graph, const ResultSet& results) {
  TimedLayers timed;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (layer.role != model::Layer::Role::kCompute) {
      continue;
    }
    timed.steps.push_back({{id}, {}, layer.key, served_time(results, layer.key), false});
    if (!timed.steps.back().time && timed.missing.empty()) {
      timed.missing = layer.name;
    }
  }
  return timed;
}

}  // namespace

WhatIfResult folded_norms_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "frozen batch normalisations folded into the convolutions before them; not fused, library's "
      "choices, hot";
  const std::optional<rewrite::TrainingStep::Rewritten> folded = rewrite::folded_norms(input.graph);
  if (!folded) {
    result.applies = false;
    result.why_not = rewrite::is_step(input.graph)
                         ? "no batch normalisation behind a convolution is frozen: run with "
                           "--freeze batch_norm"
                         : "the model is not trained: run with --training";
    return result;
  }
  const TimedLayers before = timed_layers(input.graph, input.results);
  const TimedLayers after = timed_layers(folded->graph, input.results);
  if (!before.missing.empty() || !after.missing.empty()) {
    result.why_not = fmt::format("no time for {}: run with --mode folded_norms",
                                 before.missing.empty() ? after.missing : before.missing);
    return result;
  }
  std::map<model::LayerId, Seconds> replaced;  // what is executed in a layer's place
  for (const PartitionStep& step : after.steps) {
    replaced[folded->origins[step.layers.front()]] += step.time->time.median;
  }
  for (const PartitionStep& step : before.steps) {
    const model::LayerId id = step.layers.front();
    const Seconds now = step.time->time.median;
    if (replaced[id] != now) {
      result.layers.push_back({input.graph.layers[id].name, step.key, now, replaced[id], "folded"});
    }
  }
  result.mode += fmt::format("; {} of them", folded->changes);
  result.prerequisites = {"batch normalisations that are never trained again"};
  conclude(result, sum_steps(before.steps).time, sum_steps(after.steps).time);
  return result;
}

namespace {

double mebibytes_of(Bytes bytes) {
  return static_cast<double>(bytes.value) / (1 << 20);
}

double samples_per_second(const WhatIfInput::TrainedBatch& batch) {
  return static_cast<double>(samples_of_step(batch.instance)) / batch.time.median.count();
}

/// Returns the time at the rate of a batch for as many samples as a step of the instance has.
measure::MeasuredTime time_at_rate(const WhatIfInput::TrainedBatch& batch,
                                   const ModelInstance& instance) {
  const double share = static_cast<double>(samples_of_step(instance)) /
                       static_cast<double>(samples_of_step(batch.instance));
  return {share * batch.time.median,
          {share * batch.time.interval.low, share * batch.time.interval.high}};
}

/// Batches of the same step: its own, and the largest that fits.
struct FoundBatches {
  const WhatIfInput::TrainedBatch* own = nullptr;      ///< null: a layer has no time
  const WhatIfInput::TrainedBatch* largest = nullptr;  ///< null: none fits
};

FoundBatches find_batches(const WhatIfInput& input, Bytes cap) {
  FoundBatches found;
  for (const WhatIfInput::TrainedBatch& each : input.batches) {
    ModelInstance alike = each.instance;
    alike.batch = input.instance.batch;
    if (alike != input.instance) {
      continue;
    }
    if (each.instance.batch == input.instance.batch) {
      found.own = &each;
    }
    const bool fits = each.memory <= cap;
    if (fits && (found.largest == nullptr || each.instance.batch > found.largest->instance.batch)) {
      found.largest = &each;
    }
  }
  return found;
}

}  // namespace

std::optional<WhatIfInput::TrainedBatch> price_trained_batch(const ModelInstance& instance,
                                                             const model::Graph& graph,
                                                             const ResultSet& results) {
  if (!memory_cap_of(instance)) {
    return std::nullopt;
  }
  std::vector<PartitionStep> steps =
      partition_model(graph, results, ModelPartition::Mode::kPlain).steps;
  for (PartitionStep& step : steps) {
    step.time = served_time(results, step.key);
  }
  const ModelPartition::Priced::Sum sum = sum_steps(steps);
  if (sum.missing > 0 || sum.time.median <= Seconds{}) {
    return std::nullopt;
  }
  return WhatIfInput::TrainedBatch{instance, model::compute_memory(graph).total(), sum.time};
}

WhatIfResult largest_batch_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "the largest batch of the run whose step fits into memory; not fused, library's choices, hot";
  const std::optional<Bytes> cap = memory_cap_of(input.instance);
  if (!cap) {
    result.applies = false;
    result.why_not =
        "it is not known how much memory there is: run with +memory_cap=SIZE behind the optimiser";
    return result;
  }
  const auto [own, largest] = find_batches(input, *cap);
  if (own == nullptr) {
    result.why_not = "a layer of the step has no time";
    return result;
  }
  if (largest == nullptr || largest == own) {
    result.why_not =
        fmt::format("{} of this run fits into {:.1f} MiB: add other batches to the suite",
                    largest == nullptr ? "no batch" : "no larger batch",
                    mebibytes_of(*cap));
    return result;
  }
  result.samples_per_second = samples_per_second(*largest);
  result.mode += fmt::format(
      "; batch {} in place of {}: {:.1f} in place of {:.1f} samples a second, and {:.1f} in place "
      "of {:.1f} MiB, without what a library adds",
      largest->instance.batch,
      own->instance.batch,
      samples_per_second(*largest),
      samples_per_second(*own),
      mebibytes_of(largest->memory),
      mebibytes_of(own->memory));
  result.prerequisites = {"an optimiser's rate that suits the other batch"};
  conclude(result, own->time, time_at_rate(*largest, input.instance));
  return result;
}

}  // namespace plumb::analysis
