// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/process_deviation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"

namespace plumb::analysis {
namespace {

constexpr double kMad = 1.4826;
constexpr double kNormal95 = 1.959964;

/// Returns the relative standard error of a median, from its 95% interval.
double relative_error(const measure::MeasuredTime& time) {
  return (time.interval.high - time.interval.low) / (2.0 * kNormal95) / time.median;
}

double test_sides(MetricComparison& metric,
                  std::span<const double> before,
                  std::span<const double> after,
                  double alpha,
                  const ProcessDeviation::KnownNoise& known) {
  const stats::TrimmedMean left =
      stats::moderated(stats::trimmed_mean({before.begin(), before.end()}), known.processes);
  const stats::TrimmedMean right =
      stats::moderated(stats::trimmed_mean({after.begin(), after.end()}), known.processes);
  double error = 0.0;
  double squares = 0.0;  // of each part, over its degrees of freedom
  const auto add = [&](double variance, double freedom) {
    error += variance;
    squares += freedom > 0.0 ? variance * variance / freedom : 0.0;
  };
  add(left.variance / left.kept, left.freedom);
  add(right.variance / right.kept, right.freedom);
  // Both runs deviate, so the variance between runs counts twice.
  add(2.0 * known.runs.relative * known.runs.relative, known.runs.freedom);
  const double freedom = squares > 0.0 ? error * error / squares : left.freedom + right.freedom;
  metric.by_processes = true;
  metric.baseline = std::exp(left.mean);
  metric.candidate = std::exp(right.mean);
  metric.delta = metric.candidate - metric.baseline;
  metric.error = std::sqrt(error) * metric.baseline;
  return test_change(
      metric,
      {.mean = right.mean - left.mean, .variance = error, .kept = 1.0, .freedom = freedom},
      alpha);
}

std::vector<double> values_at(std::span<const double> logs,
                              const stats::TwoLevels& levels,
                              bool high) {
  std::vector<double> values;
  std::copy_if(logs.begin(), logs.end(), std::back_inserter(values), [&](double log) {
    return (log >= levels.between) == high;
  });
  return values;
}

double test_levels(MetricComparison& metric,
                   const stats::TwoLevels& levels,
                   std::span<const double> before,
                   std::span<const double> after,
                   double alpha,
                   const ProcessDeviation::KnownNoise& known) {
  // The learned noise of runs includes their jumps between the levels, so it cannot judge one
  // level.
  constexpr double kGiven = 1e6;  // degrees of freedom of what is assumed
  const ProcessDeviation::KnownNoise of_level{
      known.processes, {LearnedNoise::kAssumed, kGiven, false}, {}};
  metric.levels = MetricComparison::Levels{std::exp(levels.low),
                                           std::exp(levels.high),
                                           levels.processes,
                                           levels.count(before),
                                           levels.count(after)};
  double least = stats::shares_p(metric.levels->baseline, metric.levels->candidate);
  double tests = 1.0;
  for (const bool high : {false, true}) {
    const std::vector<double> left = values_at(before, levels, high);
    const std::vector<double> right = values_at(after, levels, high);
    if (std::min(left.size(), right.size()) < kMinProcesses) {
      continue;
    }
    MetricComparison level = metric;
    const double p = test_sides(level, left, right, alpha, of_level);
    tests += 1.0;
    if (p < least) {
      least = p;
      metric = level;
    }
  }
  return std::min(1.0, tests * least);
}

}  // namespace

ProcessDeviation joined(const ProcessDeviation& one, const ProcessDeviation& other) {
  return {std::max(one.relative, other.relative), std::min(one.pairs, other.pairs)};
}

double test_times(MetricComparison& metric,
                  const measure::MeasuredTime& before,
                  const measure::MeasuredTime& after,
                  const ProcessDeviation& deviation,
                  double alpha) {
  const double left = relative_error(before);
  const double right = relative_error(after);
  metric.baseline = before.median.count();
  metric.candidate = after.median.count();
  metric.delta = metric.candidate - metric.baseline;
  const stats::TrimmedMean log_ratio{
      .mean = std::log(metric.candidate / metric.baseline),
      .variance = left * left + right * right + 2.0 * deviation.relative * deviation.relative,
      .kept = 1.0,
      .freedom = static_cast<double>(std::max(deviation.pairs, kMinDeviationPairs) - 1)};
  const double p = test_change(metric, log_ratio, alpha);
  metric.error = std::sqrt(log_ratio.variance) * metric.baseline;
  return p;
}

ProcessDeviation process_deviation(std::span<const results::StoredMeasurement> rows) {
  using Processes = std::map<std::pair<results::Purpose, std::int64_t>, double>;
  std::map<std::string_view, std::map<std::string_view, Processes>> times;  // by key and variant
  for (const results::StoredMeasurement& row : rows) {
    const results::Measurement& measurement = row.measurement;
    if (measurement.cache != results::CacheMode::kNone || !measurement.outcome.ok() ||
        measurement.disturbance.disturbed || measurement.purpose == results::Purpose::kRace) {
      continue;
    }
    times[measurement.key.text][measurement.variant][{measurement.purpose, measurement.process}] =
        measurement.corrected().median.count();
  }
  std::vector<double> deviations;
  for (const auto& [key, variants] : times) {
    for (const auto& [variant, processes] : variants) {
      const double* before = nullptr;
      for (const auto& [process, time] : processes) {
        if (before != nullptr && *before > 0.0 && time > 0.0) {
          deviations.push_back(std::abs(std::log(time / *before)));
        }
        before = &time;
      }
    }
  }
  ProcessDeviation result{kAssumedProcessDeviation, deviations.size()};
  if (deviations.size() >= kMinDeviationPairs) {
    std::sort(deviations.begin(), deviations.end());
    const double median =
        (deviations[(deviations.size() - 1) / 2] + deviations[deviations.size() / 2]) / 2.0;
    result.relative = kMad * median / std::sqrt(2.0);
  }
  return result;
}

std::vector<double> process_log_times(std::span<const results::StoredMeasurement* const> rows,
                                      const std::string& variant) {
  std::vector<double> result;
  for (const results::StoredMeasurement* const row :
       deciding_rows(rows, variant, results::CacheMode::kNone)) {
    const double median = row->measurement.corrected().median.count();
    if (!row->measurement.disturbance.disturbed && median > 0.0) {
      result.push_back(std::log(median));
    }
  }
  return result;
}

double test_processes(MetricComparison& metric,
                      std::span<const double> before,
                      std::span<const double> after,
                      double alpha,
                      const ProcessDeviation::KnownNoise& known) {
  const double p = test_sides(metric, before, after, alpha, known);
  std::vector<std::vector<double>> runs(known.history.begin(), known.history.end());
  const std::vector<double> baseline(before.begin(), before.end());
  if (std::find(runs.begin(), runs.end(), baseline) == runs.end()) {
    runs.push_back(baseline);
  }
  runs.emplace_back(after.begin(), after.end());
  const auto levels = stats::find_two_levels(runs);
  return levels ? test_levels(metric, *levels, before, after, alpha, known) : p;
}

}  // namespace plumb::analysis
