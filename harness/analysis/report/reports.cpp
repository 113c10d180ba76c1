// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

std::vector<std::string> names_of(const MetricComparison& metric) {
  std::vector<std::string> names = results::case_names(metric.series);
  for (const std::string& name : {layer_key_of(metric), metric.model}) {
    if (!name.empty()) {
      names.push_back(name);
    }
  }
  return names;
}

/// Leaves out of the findings the layers that are excluded.
void forget_layers(const std::set<std::string>& keys, RunComparison& comparison) {
  for (RunComparison::Finding& finding : comparison.findings) {
    std::erase_if(finding.layers, [&](const std::string& key) { return keys.contains(key); });
  }
  std::erase_if(comparison.findings,
                [](const RunComparison::Finding& finding) { return finding.layers.empty(); });
}

}  // namespace

std::vector<ComparisonReport::AppliedExclusion> apply_exclusions(
    const std::vector<results::Exclusion>& exclusions,
    std::string_view day,
    const ComparisonLimits& limits,
    RunComparison& comparison) {
  std::vector<ComparisonReport::AppliedExclusion> applied;
  std::vector<results::Exclusion> holding;
  std::set<std::string> keys;
  for (const results::Exclusion& each : exclusions) {
    applied.push_back({each, !each.holds_on(day), {}});
    if (!applied.back().expired) {
      holding.push_back(each);
    }
  }
  std::vector<MetricComparison> kept;
  for (MetricComparison& metric : comparison.metrics) {
    const results::Exclusion* const found = results::find_exclusion(holding, names_of(metric));
    if (found == nullptr) {
      kept.push_back(std::move(metric));
      continue;
    }
    keys.insert(layer_key_of(metric));
    const auto place = std::find_if(applied.begin(), applied.end(), [&](const auto& each) {
      return !each.expired && each.exclusion == *found;
    });
    place->metrics.push_back(std::move(metric));
  }
  const bool any = kept.size() < comparison.metrics.size();
  comparison.metrics = std::move(kept);
  if (any) {
    forget_layers(keys, comparison);
    comparison.verdict = verdict_of_all(comparison.metrics);
    comparison.overall = overall_change(comparison.metrics, limits);
  }
  return applied;
}

void ComparisonReport::Places::add(const model::LayerKey& key,
                                   const model::Layer& layer,
                                   const ModelInstance& model) {
  Place& place = places_[key.text];
  if (place.count++ == 0) {
    place.first = fmt::format(
        "{} of {}", layer.name.empty() ? layer.onnx_op : layer.name, to_text(model, ", "));
  }
}

void ComparisonReport::Places::add_layers(const model::Graph& graph, const ModelInstance& model) {
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      add(layer.key, layer, model);
    }
  }
}

std::map<std::string, std::string> ComparisonReport::Places::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [key, place] : places_) {
    texts[key] =
        place.first + (place.count > 1 ? fmt::format(", and {} more", place.count - 1) : "");
  }
  return texts;
}

}  // namespace plumb::analysis
