// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

constexpr double kSameSpeed = 0.02;  // fastest variant changed by less: the choice is the cause

/// Noise and limits that the tests of all layers share.
struct LayerNoise {
  ProcessDeviation deviation;
  stats::TrimmedMean::Prior prior;
  const CalibratedFloors& floors;
  const ComparisonLimits& limits;
};

measure::MeasuredTime time_of(const KeyTime& time) {
  return {time.time.median, time.time.interval};
}

const results::Measurement* find_row(const ResultSet& results,
                                     const model::LayerKey& key,
                                     const KeyTime& time) {
  for (const results::StoredMeasurement* row : results.rows_of(key)) {
    if (row->row == time.row) {
      return &row->measurement;
    }
  }
  return nullptr;
}

/// Returns whether a row has a reading of the host's pace. A slow host would then have marked it as
/// disturbed.
bool is_paced(const results::Measurement* row) {
  return row != nullptr && row->readings.contains(results::kHostPace);
}

void mark_disturbed(MetricComparison& metric,
                    const ResultSet& results,
                    const model::LayerKey& key,
                    const KeyTime& time,
                    const std::string& side) {
  const results::Measurement* row = find_row(results, key, time);
  if (row != nullptr && row->disturbance.disturbed && metric.reason.empty()) {
    metric.reason = "the host was disturbed during the " + side;
  }
}

std::vector<MetricComparison::Cause> find_causes(const RunComparison::Side& baseline,
                                                 const RunComparison::Side& candidate,
                                                 const model::LayerKey& key,
                                                 const KeyTime& before,
                                                 const KeyTime& after) {
  std::vector<MetricComparison::Cause> causes;
  const auto best_before = baseline.results.best(key, results::CacheMode::kNone);
  const auto best_after = candidate.results.best(key, results::CacheMode::kNone);
  const double served_delta = (after.time.median - before.time.median).count();
  const double best_delta = (best_after->time.median - best_before->time.median).count();
  if (before.variant != after.variant) {
    causes.push_back({"implementation changed", 1.0, before.variant + " → " + after.variant});
  }
  const double best_change = best_delta / best_before->time.median.count();
  if (std::abs(best_change) < kSameSpeed && before.variant != after.variant) {
    causes.push_back({"choice only (heuristic)",
                      std::clamp(1.0 - best_delta / served_delta, 0.0, 1.0),
                      fmt::format("the fastest variant changed by {:+.1f}%: {}",
                                  100.0 * best_change,
                                  best_after->variant)});
  } else if (std::abs(best_change) >= kSameSpeed && best_delta * served_delta > 0.0) {
    causes.push_back({"capability changed",
                      std::clamp(best_delta / served_delta, 0.0, 1.0),
                      fmt::format("the fastest variant changed by {:+.1f}%: {} → {}",
                                  100.0 * best_change,
                                  best_before->variant,
                                  best_after->variant)});
  }
  const results::Measurement* left = find_row(baseline.results, key, before);
  const results::Measurement* right = find_row(candidate.results, key, after);
  if (left != nullptr && right != nullptr && left->workspace.value != right->workspace.value) {
    causes.push_back({"workspace changed",
                      0.0,
                      fmt::format("{} → {} bytes", left->workspace.value, right->workspace.value)});
  }
  return causes;
}

/// Returns the series whose calibration applies. The fastest variant is as noisy as the library's
/// choice, which was calibrated.
std::string noise_series(const std::string& series) {
  return results::layer_series(series.substr(series.find('/') + 1));
}

/// Sets the times of two sides of which one has a single sample. Nothing tells its noise.
void set_ratio(MetricComparison& metric, const KeyTime& before, const KeyTime& after) {
  metric.baseline = before.time.median.count();
  metric.candidate = after.time.median.count();
  metric.delta = metric.candidate - metric.baseline;
  metric.ratio = metric.low = metric.high = metric.candidate / metric.baseline;
  metric.has_interval = false;
  metric.reason =
      fmt::format("only one sample in the {}, so its noise is not known",
                  measure::has_interval(after.time)    ? "baseline"
                  : measure::has_interval(before.time) ? "candidate"
                                                       : "baseline and in the candidate");
}

/// Concludes about a layer that neither run has a time of.
void judge_untimed(RunComparison::Layer& test,
                   const RunComparison::Side& baseline,
                   const RunComparison::Side& candidate) {
  const model::LayerKey key{test.key};
  const auto before = baseline.results.failure(key);
  const auto after = candidate.results.failure(key);
  test.metric.reason = "neither run has a time for it";
  if (before && after && failed_alike(*before, *after)) {
    test.not_compared = {test.metric.series, *before, *after};
  } else if (before && after) {
    judge_failures(*before, *after, test.metric);
  }
}

/// Compares one variant of each side by their processes, where there are enough. Otherwise it
/// compares them by their intervals and the deviation between processes of the runs.
void test_variant(MetricComparison& metric,
                  const RunComparison::Side& baseline,
                  const RunComparison::Side& candidate,
                  const model::LayerKey& key,
                  const KeyTime& before,
                  const KeyTime& after,
                  const LayerNoise& noise) {
  const std::string series = noise_series(metric.series);
  const std::vector<double> left = process_log_times(baseline.results.rows_of(key), before.variant);
  const std::vector<double> right =
      process_log_times(candidate.results.rows_of(key), after.variant);
  const double least = std::max(noise.limits.layer_floor, kMinLayerFloor);
  if (std::min(left.size(), right.size()) >= kMinProcesses) {
    metric.p = test_processes(
        metric,
        left,
        right,
        noise.limits.alpha,
        {noise.prior, noise.floors.learned.of(series), noise.floors.learned.processes(series)});
    if (metric.levels && is_paced(find_row(baseline.results, key, before)) &&
        is_paced(find_row(candidate.results, key, after))) {
      metric.levels->suspected_cause = "placement in memory";
    }
    metric.floor = run_floor(noise.floors, series, least);
  } else if (!measure::has_interval(before.time) || !measure::has_interval(after.time)) {
    set_ratio(metric, before, after);
  } else {
    metric.p =
        test_times(metric, time_of(before), time_of(after), noise.deviation, noise.limits.alpha);
    metric.floor =
        layer_floor(noise.floors, series, noise.limits.layer_floor, noise.deviation.relative);
  }
}

/// Compares the fastest variants, where one side's library does not choose its fastest. A lower
/// bound may have got worse, though no user notices it yet.
std::optional<RunComparison::Layer> test_capability(const RunComparison::Side& baseline,
                                                    const RunComparison::Side& candidate,
                                                    const model::LayerKey& key,
                                                    const LayerNoise& noise) {
  const auto before = baseline.results.best(key, results::CacheMode::kNone);
  const auto after = candidate.results.best(key, results::CacheMode::kNone);
  if (!before || !after || before->time.median <= Seconds(0.0) ||
      after->time.median <= Seconds(0.0) ||
      (before->row == served_time(baseline.results, key)->row &&
       after->row == served_time(candidate.results, key)->row)) {
    return std::nullopt;
  }
  RunComparison::Layer test;
  test.metric.series = results::capability_series(key.text);
  test.metric.kind = MetricKind::kCapability;
  test_variant(test.metric, baseline, candidate, key, *before, *after, noise);
  if (before->variant != after->variant) {
    test.metric.causes.push_back(
        {"fastest variant changed", 1.0, before->variant + " → " + after->variant});
  }
  mark_disturbed(test.metric, baseline.results, key, *before, "baseline");
  mark_disturbed(test.metric, candidate.results, key, *after, "candidate");
  return test;
}

RunComparison::Layer test_layer(const RunComparison::Side& baseline,
                                const RunComparison::Side& candidate,
                                const model::LayerKey& key,
                                const LayerNoise& noise) {
  RunComparison::Layer test;
  test.metric.series = results::layer_series(key.text);
  test.metric.kind = MetricKind::kLayer;
  test.key = key.text;
  const auto before = served_time(baseline.results, key);
  const auto after = served_time(candidate.results, key);
  if (before && !after) {
    const auto failure = candidate.results.failure(key);
    test.metric.verdict = failure && failure->kind != results::Outcome::Kind::kSkipped
                              ? ComparisonVerdict::kBroken
                              : ComparisonVerdict::kInconclusive;
    test.metric.reason =
        failure
            ? fmt::format("worked before, and now {}: {}", to_text(failure->kind), failure->reason)
            : "the candidate did not measure it";
    return test;
  }
  if (!before && !after) {
    judge_untimed(test, baseline, candidate);
    return test;
  }
  if (!before) {
    test.metric.reason = "the baseline has no time for it";
    return test;
  }
  if (before->time.median <= Seconds(0.0) || after->time.median <= Seconds(0.0)) {
    test.metric.reason = "not longer than the harness overhead";
    return test;
  }
  test.baseline_variant = before->variant;
  test.candidate_variant = after->variant;
  test_variant(test.metric, baseline, candidate, key, *before, *after, noise);
  const bool fell_back = candidate.results.fell_back_to_reference(key) &&
                         !baseline.results.fell_back_to_reference(key);
  if (fell_back) {
    test.metric.verdict = ComparisonVerdict::kBroken;
    test.metric.reason = "fell back to a reference implementation";
  }
  test.metric.causes = find_causes(baseline, candidate, key, *before, *after);
  mark_disturbed(test.metric, baseline.results, key, *before, "baseline");
  mark_disturbed(test.metric, candidate.results, key, *after, "candidate");
  return test;
}

/// Returns a prior for the variance between processes, fitted to all layers.
stats::TrimmedMean::Prior fit_prior(const RunComparison::Side& baseline,
                                    const RunComparison::Side& candidate,
                                    const std::set<model::LayerKey>& keys) {
  std::vector<stats::TrimmedMean> samples;
  for (const RunComparison::Side* const side : {&baseline, &candidate}) {
    for (const model::LayerKey& key : keys) {
      if (const auto time = served_time(side->results, key)) {
        const std::vector<double> logs =
            process_log_times(side->results.rows_of(key), time->variant);
        if (logs.size() >= kMinProcesses) {
          samples.push_back(stats::trimmed_mean(logs));
        }
      }
    }
  }
  return stats::variance_prior(samples);
}

std::vector<RunComparison::Layer> test_layers(const RunComparison::Side& baseline,
                                              const RunComparison::Side& candidate,
                                              const ProcessDeviation& deviation,
                                              const CalibratedFloors& floors,
                                              const ComparisonLimits& limits) {
  std::set<model::LayerKey> keys;
  for (const ResultSet* results : {&baseline.results, &candidate.results}) {
    for (const results::StoredMeasurement& row : results->rows()) {
      keys.insert(row.measurement.key);
    }
  }
  const LayerNoise noise{deviation, fit_prior(baseline, candidate, keys), floors, limits};
  std::vector<RunComparison::Layer> tests;
  for (const model::LayerKey& key : keys) {
    if (auto test = test_capability(baseline, candidate, key, noise)) {
      tests.push_back(std::move(*test));
    }
    tests.push_back(test_layer(baseline, candidate, key, noise));
  }
  return tests;
}

bool is_changed(const MetricComparison& metric) {
  return metric.verdict == ComparisonVerdict::kRegressed ||
         metric.verdict == ComparisonVerdict::kImproved ||
         metric.verdict == ComparisonVerdict::kBroken;
}

/// Corrects all p-values of a comparison as one family and concludes.
///
/// Weighted Benjamini-Hochberg (Genovese, Roeder and Wasserman, Biometrika 93, 2006). The metrics
/// that decide have half of the weight, however many layers explain them. A large suite therefore
/// does not reduce the power of its models' test.
void judge_together(std::span<MetricComparison* const> metrics, const ComparisonLimits& limits) {
  const auto count = static_cast<double>(metrics.size());
  const auto deciding = static_cast<double>(std::count_if(
      metrics.begin(), metrics.end(), [](const auto* metric) { return metric->decides; }));
  const bool two_parts = deciding > 0.0 && deciding < count;
  std::vector<MetricComparison::FamilyMember> family;
  for (MetricComparison* const metric : metrics) {
    const double members = metric->decides ? deciding : count - deciding;
    const bool layer =
        metric->kind == MetricKind::kLayer || metric->kind == MetricKind::kCapability;
    const double alone = layer ? limits.layer_margin : limits.end_to_end_margin;
    const double of_processes = layer ? limits.run_layer_margin : limits.run_margin;
    family.push_back(
        {metric,
         two_parts ? *metric->p * 2.0 * members / count : *metric->p,
         {limits.alpha, metric->floor->relative, metric->by_processes ? of_processes : alone}});
  }
  judge_family(family);
}

}  // namespace

RunComparison compare_runs(const RunComparison::Side& baseline,
                           const RunComparison::Side& candidate,
                           const CalibratedFloors& floors,
                           const ComparisonLimits& limits) {
  RunComparison result;
  result.deviation = joined(process_deviation(baseline.results.rows()),
                            process_deviation(candidate.results.rows()));
  std::vector<MetricComparison*> family;
  std::vector<ModelRegression::Change> models =
      compare_models(baseline.models, candidate.models, result.deviation, floors, limits);
  std::vector<RunComparison::Layer> layers =
      test_layers(baseline, candidate, result.deviation, floors, limits);
  for (RunComparison::Layer& layer : layers) {
    if (layer.not_compared) {
      result.not_compared.push_back(*std::move(layer.not_compared));
    }
  }
  std::erase_if(layers,
                [](const RunComparison::Layer& layer) { return layer.not_compared.has_value(); });
  std::vector<MetricComparison*> all;
  all.reserve(models.size() + layers.size());
  for (ModelRegression::Change& change : models) {
    all.push_back(&change.metric);
  }
  for (RunComparison::Layer& layer : layers) {
    all.push_back(&layer.metric);
  }
  choose_what_decides(all);
  std::copy_if(all.begin(), all.end(), std::back_inserter(family), [](const auto* metric) {
    return metric->p.has_value();
  });
  judge_together(family, limits);
  for (RunComparison::Layer& layer : layers) {
    if (!is_changed(layer.metric)) {
      layer.metric.causes.clear();
    }
  }
  result.findings = group_findings(baseline, layers);
  for (ModelRegression::Change& change : models) {
    result.metrics.push_back(std::move(change.metric));
  }
  for (RunComparison::Layer& layer : layers) {
    result.metrics.push_back(std::move(layer.metric));
  }
  for (MetricComparison& cost : compare_layer_costs(baseline.results, candidate.results, limits)) {
    result.metrics.push_back(std::move(cost));
  }
  for (auto compared : {compare_model_outputs(baseline.models, candidate.models),
                        compare_layer_outputs(baseline.results, candidate.results)}) {
    std::move(compared.begin(), compared.end(), std::back_inserter(result.metrics));
  }
  attribute_models(baseline, candidate, result);
  put_changes_first(result.metrics);
  result.overall = overall_change(result.metrics, limits);
  result.verdict = verdict_of_all(result.metrics);
  return result;
}

void withhold_times(const std::string& reason, RunComparison& comparison) {
  const auto withhold = [&](MetricComparison& metric) {
    if (metric.ratio && !metric.in_bytes && metric.verdict != ComparisonVerdict::kBroken) {
      metric.verdict = ComparisonVerdict::kInconclusive;
      metric.reason = reason;
      metric.causes.clear();
    }
  };
  for (MetricComparison& metric : comparison.metrics) {
    withhold(metric);
  }
  if (comparison.overall) {
    withhold(comparison.overall->metric);
  }
  comparison.findings.clear();
  comparison.attributions.clear();
  put_changes_first(comparison.metrics);
  comparison.verdict = verdict_of_all(comparison.metrics);
}

}  // namespace plumb::analysis
