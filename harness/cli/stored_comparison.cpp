// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/stored_comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analyze/model_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/run_analysis.hpp"
#include "harness/cli/stored_noise.hpp"
#include "harness/plan/run_record.hpp"

namespace plumb {
namespace {

constexpr std::string_view kRecordKind = "comparison";
constexpr std::string_view kBetween = "..";

std::vector<ModelBounds> bounds_in(const RunReport& report) {
  std::vector<ModelBounds> bounds;
  for (const ModelReport& model : report.models) {
    bounds.push_back(model.bounds);
  }
  return bounds;
}

/// Says where each key stands, in the models of both runs.
std::map<std::string, std::string> places_in(const RunReport& left, const RunReport& right) {
  struct Place {
    std::string first;
    std::size_t count = 0;
  };
  std::map<std::string, Place> found;
  std::set<ModelInstance> seen;
  const auto add = [&](const std::string& key, const Layer& layer, const ModelReport& model) {
    Place& place = found[key];
    if (place.count++ == 0) {
      place.first = fmt::format("{} of {}",
                                layer.name.empty() ? layer.onnx_op : layer.name,
                                to_text(model.bounds.instance, ", "));
    }
  };
  for (const RunReport* report : {&left, &right}) {
    for (const ModelReport& model : report->models) {
      if (!seen.insert(model.bounds.instance).second) {
        continue;
      }
      for (const Layer& layer : model.graph.layers) {
        if (layer.role == Layer::Role::kCompute) {
          add(layer.key.text, layer, model);
        }
      }
      for (const CoverStep& step : model.bounds.cover) {
        if (!step.rewrite.empty()) {
          add(step.key.text, model.graph.layers[step.layers.front()], model);
        }
      }
    }
  }
  std::map<std::string, std::string> places;
  for (const auto& [key, place] : found) {
    places[key] =
        place.first + (place.count > 1 ? fmt::format(", and {} more", place.count - 1) : "");
  }
  return places;
}

std::vector<Seconds> layer_samples(const ResultSet& results, const std::optional<KeyTime>& time) {
  for (const StoredMeasurement& row : results.rows()) {
    if (time && row.row == time->row) {
      return row.measurement.samples;
    }
  }
  return {};
}

std::vector<Seconds> execution_samples(
    const std::map<std::string, std::vector<Execution>>& executions,
    const MetricComparison& metric) {
  const auto found = executions.find(metric.model);
  const Execution* newest = nullptr;
  if (found != executions.end()) {
    for (const Execution& execution : found->second) {
      const bool same =
          metric.series == end_to_end_series(metric.model, execution.mode, execution.scenario);
      if (same && (newest == nullptr || newest->row.started <= execution.row.started)) {
        newest = &execution;
      }
    }
  }
  return newest == nullptr ? std::vector<Seconds>() : newest->row.samples;
}

/// Gathers the raw times of what changed, where there are any.
std::vector<MetricSamples> samples_of_changes(const Store& store,
                                              const RunComparisonReport& report,
                                              const ResultSet& left,
                                              const ResultSet& right) {
  const auto before = executions_of(store, report.baseline.header.id);
  const auto after = executions_of(store, report.candidate.header.id);
  std::vector<MetricSamples> all;
  for (const MetricComparison& metric : report.comparison.metrics) {
    const bool changed = metric.verdict == ComparisonVerdict::kRegressed ||
                         metric.verdict == ComparisonVerdict::kImproved;
    if (!changed || !metric.ratio) {
      continue;
    }
    MetricSamples samples{metric.series, {}, {}};
    if (metric.kind == "end_to_end") {
      samples.baseline = execution_samples(before, metric);
      samples.candidate = execution_samples(after, metric);
    } else if (metric.kind == "layer") {
      const LayerKey key{metric.series.substr(metric.series.find('/') + 1)};
      samples.baseline = layer_samples(left, served_time(left, key));
      samples.candidate = layer_samples(right, served_time(right, key));
    }
    if (!samples.baseline.empty() && !samples.candidate.empty()) {
      all.push_back(std::move(samples));
    }
  }
  return all;
}

}  // namespace

void check_alike(const RunRecord& baseline,
                 const RunRecord& candidate,
                 std::span<const std::string> varied) {
  const RunHeader& left = baseline.header;
  const RunHeader& right = candidate.header;
  std::string unlike;
  for (const EnvironmentDifference& difference :
       environment_diff(left.environment, right.environment)) {
    if (difference.identity && !is_varied(difference.name, varied)) {
      unlike += fmt::format(
          "\n  {}: '{}' and '{}'", difference.name, difference.baseline, difference.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the runs were measured in unlike environments:" + unlike +
                    "\nname what differs on purpose: --vary stack, --vary driver, --vary FACT");
  }
  if (left.suite_hash != right.suite_hash && !is_varied("suite", varied)) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the runs are of different suites: '{}' ({:.12}) and '{}' ({:.12}); "
                            "--vary suite compares what both have",
                            left.suite,
                            left.suite_hash,
                            right.suite,
                            right.suite_hash));
  }
}

RunComparisonReport compare_stored_runs(const Store& store,
                                        const std::string& baseline,
                                        const std::string& candidate,
                                        std::span<const std::string> varied,
                                        const ComparisonLimits& limits,
                                        const std::optional<Timestamp>& until) {
  RunComparisonReport report;
  report.baseline = store.find_run(baseline);
  report.candidate = store.find_run(candidate);
  report.varied.assign(varied.begin(), varied.end());
  report.limits = limits;
  report.environment_diff =
      environment_diff(report.baseline.header.environment, report.candidate.header.environment);
  check_alike(report.baseline, report.candidate, varied);
  const RunReport left = analyze_run(store, report.baseline, {});
  const RunReport right = analyze_run(store, report.candidate, {});
  const ResultSet left_results(left.rows, left.calibration);
  const ResultSet right_results(right.rows, right.calibration);
  const std::vector<ModelBounds> left_bounds = bounds_in(left);
  const std::vector<ModelBounds> right_bounds = bounds_in(right);
  const CalibratedFloors floors = calibrated_floors(
      store, report.baseline.header.environment, report.candidate.header.environment, until);
  report.calibrations = floors.runs;
  report.comparison =
      compare_runs({left_results, left_bounds, executions_of(store, report.baseline.header.id)},
                   {right_results, right_bounds, executions_of(store, report.candidate.header.id)},
                   floors,
                   limits);
  report.places = places_in(left, right);
  report.samples = samples_of_changes(store, report, left_results, right_results);
  return report;
}

void store_comparison(Store& store, const RunComparisonReport& report) {
  std::ostringstream document;
  write_run_comparison(report, Style::kJson, document);
  put_run_record(store,
                 report.candidate.header.id,
                 std::string(kRecordKind),
                 report.baseline.header.id,
                 std::move(document).str());
}

std::optional<ComparedRuns> compared_runs(const std::string& name) {
  const std::size_t between = name.find(kBetween);
  if (between == std::string::npos) {
    return std::nullopt;
  }
  return ComparedRuns{name.substr(0, between), name.substr(between + kBetween.size())};
}

RunComparisonReport kept_comparison(const Store& store, const ComparedRuns& runs) {
  const std::string baseline = store.find_run(runs.baseline).header.id;
  const std::string candidate = store.find_run(runs.candidate).header.id;
  std::optional<DerivedRecord> newest;
  for (DerivedRecord& record : store.derived(candidate, std::string(kRecordKind))) {
    if (record.subject == baseline && (!newest || newest->computed <= record.computed)) {
      newest = std::move(record);
    }
  }
  std::vector<std::string> varied;
  ComparisonLimits limits;
  if (newest) {
    const auto document = nlohmann::json::parse(newest->payload);
    varied = document.at("varied").get<std::vector<std::string>>();
    const auto& kept = document.at("limits");
    kept.at("alpha").get_to(limits.alpha);
    kept.at("false_discovery_rate").get_to(limits.false_discovery_rate);
    kept.at("end_to_end_floor").get_to(limits.end_to_end_floor);
    kept.at("layer_floor").get_to(limits.layer_floor);
  }
  return compare_stored_runs(store,
                             baseline,
                             candidate,
                             varied,
                             limits,
                             newest ? std::optional(newest->computed) : std::nullopt);
}

}  // namespace plumb
