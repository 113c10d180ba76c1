// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {
namespace {

std::vector<PartitionStep> possible_steps(const model::Graph& graph,
                                          const ResultSet& results,
                                          ModelPartition::Mode mode,
                                          std::string_view family) {
  std::vector<PartitionStep> steps;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (layer.role == model::Layer::Role::kCompute) {
      steps.push_back(
          {{id}, {}, layer.key, results.best(layer.key, results::CacheMode::kNone), false});
    } else if (layer.role == model::Layer::Role::kUnsupported) {
      steps.push_back({{id}, {}, layer.key, std::nullopt, false});
    }
  }
  if (mode == ModelPartition::Mode::kPlain) {
    return steps;
  }
  for (rewrite::Match& match : rewrite::matches(graph, family)) {
    if (std::optional<KeyTime> time = results.best(match.key, results::CacheMode::kNone)) {
      steps.push_back({std::move(match.layers),
                       std::string(match.rewrite),
                       std::move(match.key),
                       std::move(time),
                       false});
    }
  }
  return steps;
}

/// Half intervals of one row, and how often it is used.
struct RowUse {
  double count = 0.0;
  double below = 0.0;
  double above = 0.0;
};

}  // namespace

std::string_view to_text(ModelPartition::Mode mode) {
  return mode == ModelPartition::Mode::kPlain ? "plain" : "fusion";
}

ModelPartition partition_model(const model::Graph& graph,
                               const ResultSet& results,
                               ModelPartition::Mode mode,
                               std::string_view family) {
  const std::vector<PartitionStep> steps = possible_steps(graph, results, mode, family);
  std::vector<ModelPartition::Cover::Option> options;
  options.reserve(steps.size());
  for (const PartitionStep& step : steps) {
    options.push_back(
        {step.layers, step.time ? std::optional(step.time->time.median) : std::nullopt});
  }
  const ModelPartition::Cover cover = cheapest_partition(graph.layers.size(), options);
  const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);

  ModelPartition result;
  result.optimal = cover.optimal;
  result.critical_length = path.length;
  std::set<model::LayerId> critical;
  for (const std::size_t index : path.options) {
    result.critical.push_back(steps[index]);
    result.critical.back().critical = true;
    critical.insert(steps[index].layers.begin(), steps[index].layers.end());
  }
  for (const std::size_t index : cover.chosen) {
    PartitionStep step = steps[index];
    step.critical = std::any_of(step.layers.begin(), step.layers.end(), [&](model::LayerId layer) {
      return critical.contains(layer);
    });
    result.steps.push_back(std::move(step));
  }
  return result;
}

ModelPartition::Priced::Sum sum_steps(const std::vector<PartitionStep>& steps) {
  ModelPartition::Priced::Sum sum;
  std::map<results::RowId, RowUse> uses;
  for (const PartitionStep& step : steps) {
    if (!step.time) {
      ++sum.missing;
      continue;
    }
    const measure::SampleSummary& time = step.time->time;
    sum.time.median += time.median;
    RowUse& use = uses[step.time->row];
    use.count += 1.0;
    use.below = std::max(0.0, (time.median - time.interval.low).count());
    use.above = std::max(0.0, (time.interval.high - time.median).count());
    if (!sum.oldest_row || step.time->measured < *sum.oldest_row) {
      sum.oldest_row = step.time->measured;
    }
  }
  double below = 0.0;
  double above = 0.0;
  for (const auto& [row, use] : uses) {
    sum.inputs.push_back(row);
    // One row used n times is one measurement: its half interval counts n times before it is
    // squared.
    below += use.count * use.below * use.count * use.below;
    above += use.count * use.above * use.count * use.above;
  }
  sum.time.interval = {sum.time.median - Seconds(std::sqrt(below)),
                       sum.time.median + Seconds(std::sqrt(above))};
  return sum;
}

Bound make_bound(results::BoundKind kind,
                 std::string_view mode,
                 const std::vector<PartitionStep>& steps) {
  ModelPartition::Priced::Sum sum = sum_steps(steps);
  Bound bound;
  bound.kind = kind;
  bound.mode = mode;
  bound.seconds = sum.time.median;
  bound.interval = sum.time.interval;
  bound.complete = sum.missing == 0;
  bound.oldest_row = sum.oldest_row;
  bound.inputs = std::move(sum.inputs);
  return bound;
}

std::string name_of(const model::Graph& graph, const std::vector<model::LayerId>& layers) {
  constexpr std::size_t kNamed = 4;
  if (layers.size() > kNamed) {
    return fmt::format("{} … {} ({} layers)",
                       graph.layers[layers.front()].name,
                       graph.layers[layers.back()].name,
                       layers.size());
  }
  std::string names;
  for (const model::LayerId layer : layers) {
    names += names.empty() ? "" : " + ";
    names += graph.layers[layer].name;
  }
  return names;
}

std::string find_reason(const model::Layer& layer, const ResultSet& results) {
  if (layer.role == model::Layer::Role::kUnsupported) {
    return layer.reason;
  }
  if (const std::optional<results::Outcome> failure = results.failure(layer.key)) {
    return fmt::format("{}: {}", to_text(failure->kind), failure->reason);
  }
  return "not measured in this run";
}

ModelPartition::Priced priced_partition(const model::Graph& graph,
                                        const ResultSet& results,
                                        std::vector<PartitionStep> steps,
                                        std::string_view precision) {
  ModelPartition::Priced priced;
  priced.steps = std::move(steps);
  priced.sum = sum_steps(priced.steps);
  const auto first = std::find_if(priced.steps.begin(),
                                  priced.steps.end(),
                                  [](const PartitionStep& step) { return !step.time; });
  if (first != priced.steps.end()) {
    const model::Layer& layer = graph.layers[first->layers.front()];
    priced.why_not = fmt::format("no {} time for {} of {} layers, first {}: {}",
                                 precision,
                                 priced.sum.missing,
                                 priced.steps.size(),
                                 layer.name,
                                 find_reason(layer, results));
  }
  return priced;
}

}  // namespace plumb::analysis
