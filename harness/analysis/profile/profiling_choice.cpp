// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

using ModelsOfLayers = std::map<std::string, std::vector<std::string>>;

const std::vector<std::string>& models_of(const std::string& layer, const ModelsOfLayers& models) {
  static const std::vector<std::string> none;
  const auto found = models.find(layer);
  return found == models.end() ? none : found->second;
}

bool needs_no_times(const results::ExecutionMode& mode) {
  return !mode.best_variant && !mode.micro_batch;
}

std::vector<ProfilingChoice::Model> choose_models(
    const std::vector<ProfilingChoice::Metric>& changed, const ModelsOfLayers& models_of_layers) {
  std::map<std::string, const ProfilingChoice::Metric*>
      models;  // with the metric that has the mode
  for (const ProfilingChoice::Metric& metric : changed) {
    if (metric.model.empty()) {
      continue;
    }
    const ProfilingChoice::Metric*& most = models[metric.model];
    if (needs_no_times(results::execution_mode_from(metric.mode)) &&
        (most == nullptr || std::abs(metric.delta) > std::abs(most->delta))) {
      most = &metric;
    }
  }
  for (const ProfilingChoice::Metric& metric : changed) {
    const std::vector<std::string>& places = models_of(metric.layer, models_of_layers);
    const bool is_in_one = std::any_of(
        places.begin(), places.end(), [&](const auto& each) { return models.contains(each); });
    if (metric.model.empty() && !is_in_one && !places.empty()) {
      models.emplace(places.front(), nullptr);
    }
  }
  std::vector<ProfilingChoice::Model> chosen;
  chosen.reserve(models.size());
  for (const auto& [subject, metric] : models) {
    chosen.push_back(
        {subject, results::execution_mode_from(metric == nullptr ? "plain" : metric->mode)});
  }
  return chosen;
}

/// Chooses the layers that occur in no model, those first that changed most.
std::vector<ProfilingChoice::Model> choose_layers(
    const std::vector<ProfilingChoice::Metric>& changed, const ModelsOfLayers& models_of_layers) {
  std::vector<const ProfilingChoice::Metric*> alone;
  for (const ProfilingChoice::Metric& metric : changed) {
    if (metric.model.empty() && models_of(metric.layer, models_of_layers).empty()) {
      alone.push_back(&metric);
    }
  }
  std::stable_sort(alone.begin(), alone.end(), [](const auto* left, const auto* right) {
    return std::abs(left->delta) > std::abs(right->delta);
  });
  alone.resize(std::min(alone.size(), kMaxExplainedLayers));
  std::vector<ProfilingChoice::Model> chosen;
  chosen.reserve(alone.size());
  for (const ProfilingChoice::Metric* const metric : alone) {
    chosen.push_back({metric->layer, {}, metric->layer});
  }
  return chosen;
}

}  // namespace

bool has_model(const ProfilingChoice& choice) {
  return std::any_of(choice.models.begin(),
                     choice.models.end(),
                     [](const ProfilingChoice::Model& each) { return each.layer.empty(); });
}

ProfilingChoice choose_profiling(std::vector<ProfilingChoice::Metric> changed,
                                 std::span<const ProfilingChoice::Metric> not_changed,
                                 const ModelsOfLayers& models_of_layers) {
  ProfilingChoice choice;
  if (changed.empty()) {
    return choice;
  }
  choice.models = choose_models(changed, models_of_layers);
  const bool alone = choice.models.empty();
  if (alone) {
    choice.models = choose_layers(changed, models_of_layers);
  }
  choice.metrics = std::move(changed);
  const auto is_profiled = [&](const std::string& subject) {
    return std::any_of(choice.models.begin(),
                       choice.models.end(),
                       [&](const ProfilingChoice::Model& each) { return each.subject == subject; });
  };
  std::vector<ProfilingChoice::Metric> models;
  std::vector<ProfilingChoice::Metric> layers;
  std::vector<ProfilingChoice::Metric> layers_alone;
  for (const ProfilingChoice::Metric& metric : not_changed) {
    const std::vector<std::string>& places = models_of(metric.layer, models_of_layers);
    if (metric.model.empty() && std::any_of(places.begin(), places.end(), is_profiled)) {
      layers.push_back(metric);
    } else if (alone && metric.model.empty() && places.empty()) {
      layers_alone.push_back(metric);
    } else if (!metric.model.empty() && !is_profiled(metric.model) &&
               needs_no_times(results::execution_mode_from(metric.mode))) {
      models.push_back(metric);
    }
  }
  const auto is_shorter = [](const ProfilingChoice::Metric& left,
                             const ProfilingChoice::Metric& right) {
    return left.baseline < right.baseline;
  };
  std::stable_sort(models.begin(), models.end(), is_shorter);
  std::stable_sort(layers.rbegin(), layers.rend(), is_shorter);
  const auto longest = std::max_element(layers_alone.begin(), layers_alone.end(), is_shorter);
  models.resize(std::min<std::size_t>(models.size(), 1));
  layers.resize(std::min(layers.size(), kMaxControlLayers));
  std::vector<ProfilingChoice::Metric> controls = std::move(models);
  controls.insert(controls.end(), layers.begin(), layers.end());
  for (const ProfilingChoice::Metric& control : controls) {
    if (!control.model.empty()) {
      choice.models.push_back({control.model, results::execution_mode_from(control.mode)});
    }
  }
  if (longest != layers_alone.end()) {
    choice.models.push_back({longest->layer, {}, longest->layer});
    controls.push_back(*longest);
  }
  for (ProfilingChoice::Metric& control : controls) {
    control.control = true;
    choice.metrics.push_back(std::move(control));
  }
  return choice;
}

ProfilingChoice::Metric describe_metric(const MetricComparison& compared) {
  ProfilingChoice::Metric described;
  described.series = compared.series;
  described.ratio = compared.ratio;
  if (compared.has_interval) {
    described.low = compared.low;
    described.high = compared.high;
  }
  described.delta = compared.delta;
  described.baseline = compared.baseline;
  return described;
}

namespace {

/// Returns a metric of a comparison of runs, with the model or layer that it is of.
ProfilingChoice::Metric describe_run_metric(const MetricComparison& metric) {
  ProfilingChoice::Metric described = describe_metric(metric);
  if (metric.kind == MetricKind::kEndToEnd) {
    described.model = metric.model;
    described.mode = results::parse_series(metric.series).mode;
  } else {
    described.layer = layer_key_of(metric);
  }
  return described;
}

}  // namespace

ProfilingChoice choose_comparison_profiling(
    const RunComparison& comparison, const std::map<std::string, const model::Graph*>& graphs) {
  std::vector<ProfilingChoice::Metric> changed;
  std::vector<ProfilingChoice::Metric> not_changed;
  for (const MetricComparison& metric : comparison.metrics) {
    const bool has_functions =
        metric.kind == MetricKind::kEndToEnd || metric.kind == MetricKind::kLayer;
    if (!has_functions || !metric.ratio) {
      continue;
    }
    if (metric.verdict == ComparisonVerdict::kEquivalent) {
      not_changed.push_back(describe_run_metric(metric));
    } else if (metric.verdict == ComparisonVerdict::kRegressed ||
               metric.verdict == ComparisonVerdict::kImproved) {
      changed.push_back(describe_run_metric(metric));
    }
  }
  std::map<std::string, std::vector<std::string>> models_of_layers;
  for (const auto& [subject, graph] : graphs) {
    for (const model::Layer& layer : graph->layers) {
      std::vector<std::string>& models = models_of_layers[layer.key.text];
      if (models.empty() || models.back() != subject) {
        models.push_back(subject);
      }
    }
  }
  return choose_profiling(std::move(changed), not_changed, models_of_layers);
}

}  // namespace plumb::analysis
