// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/plan_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {
namespace {

/// Returns whether a layer only gives its operand's bytes other extents, or stands for the reorders
/// of the outputs.
bool costs_nothing(const results::ExecutedLayer& layer) {
  return layer.layers.empty() || layer.key.text.find(":view;") != std::string::npos;
}

std::optional<KeyTime> alone(const results::ExecutedLayer& layer, const ResultSet& results) {
  std::optional<KeyTime> time =
      results.of_variant(layer.key, layer.variant, results::CacheMode::kWeights);
  if (!time) {
    time = results.best(layer.key, results::CacheMode::kWeights);
  }
  return time;
}

Bound estimate_in_context(const results::Execution& execution, const measure::MeasuredTime& time) {
  Bound estimate;
  estimate.kind = results::BoundKind::kPredicted;
  estimate.mode = execution.mode;
  estimate.complete = true;
  estimate.oldest_row = execution.row.started;
  estimate.seconds = time.median;
  estimate.interval = time.interval;
  return estimate;
}

}  // namespace

std::optional<Bound> estimate_of_plan(const results::Execution& execution,
                                      const ResultSet& results) {
  if (execution.in_context) {
    return estimate_in_context(execution, *execution.in_context);
  }
  if (execution.layers.empty() || !results.has_cold_rows()) {
    return std::nullopt;
  }
  std::vector<PartitionStep> steps;
  Seconds reorders{};
  for (const results::ExecutedLayer& layer : execution.layers) {
    reorders += layer.reorder;
    if (!costs_nothing(layer)) {
      steps.push_back({layer.layers, {}, layer.key, alone(layer, results), false});
    }
  }
  Bound estimate = make_bound(results::BoundKind::kPredicted, execution.mode, steps);
  estimate.seconds += reorders;
  estimate.interval.low += reorders;
  estimate.interval.high += reorders;
  estimate.lacks = {"the caches as the step before leaves them", "gaps between steps"};
  if (results::execution_mode_from(execution.mode).has_branches()) {
    estimate.lacks.emplace_back("parallel branches");
  }
  return estimate;
}

std::vector<PricedStep> priced_steps(const results::Execution& execution,
                                     const ResultSet& results) {
  if (results::execution_mode_from(execution.mode).has_branches()) {
    return {};
  }
  std::vector<PricedStep> steps;
  for (const results::ExecutedLayer& layer : execution.layers) {
    PricedStep step{layer.layers, layer.key, layer.variant, layer.reorder};
    if (execution.in_context) {
      if (!layer.in_context) {
        return {};
      }
      step.seconds = layer.in_context->median;
    } else if (!costs_nothing(layer)) {
      const std::optional<KeyTime> time = alone(layer, results);
      if (!time) {
        return {};
      }
      step.seconds += time->time.median;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<LayerInModel> largest_differences(const results::Execution& execution,
                                              const model::Graph& graph,
                                              const ResultSet& results,
                                              std::size_t most) {
  std::vector<LayerInModel> layers;
  for (const results::ExecutedLayer& layer : execution.layers) {
    const bool known = std::all_of(layer.layers.begin(),
                                   layer.layers.end(),
                                   [&](model::LayerId id) { return id < graph.layers.size(); });
    const std::optional<KeyTime> time =
        results.of_variant(layer.key, layer.variant, results::CacheMode::kWeights);
    if (known && !costs_nothing(layer) && time) {
      layers.push_back({name_of(graph, layer.layers),
                        layer.key,
                        layer.variant,
                        layer.seconds,
                        time->time.median});
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto& left, const auto& right) {
    return std::abs((left.inside - left.alone).count()) >
           std::abs((right.inside - right.alone).count());
  });
  layers.resize(std::min(most, layers.size()));
  return layers;
}

}  // namespace plumb::analysis
