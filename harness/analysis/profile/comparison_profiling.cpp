// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/comparison_profiling.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

ChangedMetric describe(const MetricComparison& metric) {
  const bool of_model = metric.kind == MetricKind::kEndToEnd;
  ChangedMetric described;
  described.series = metric.series;
  described.model = of_model ? metric.model : "";
  described.mode = of_model ? results::parse_series(metric.series).mode : "";
  described.layer = of_model ? "" : layer_key_of(metric);
  described.ratio = metric.ratio;
  if (metric.has_interval) {
    described.low = metric.low;
    described.high = metric.high;
  }
  described.delta = metric.delta;
  described.baseline = metric.baseline;
  return described;
}

}  // namespace

ProfilingChoice choose_comparison_profiling(
    const RunComparison& comparison, const std::map<std::string, const model::Graph*>& graphs) {
  std::vector<ChangedMetric> changed;
  std::vector<ChangedMetric> not_changed;
  for (const MetricComparison& metric : comparison.metrics) {
    const bool has_functions =
        metric.kind == MetricKind::kEndToEnd || metric.kind == MetricKind::kLayer;
    if (!has_functions || !metric.ratio) {
      continue;
    }
    if (metric.verdict == ComparisonVerdict::kEquivalent) {
      not_changed.push_back(describe(metric));
    } else if (metric.verdict == ComparisonVerdict::kRegressed ||
               metric.verdict == ComparisonVerdict::kImproved) {
      changed.push_back(describe(metric));
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
