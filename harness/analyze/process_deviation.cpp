// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/process_deviation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plumb {
namespace {

constexpr double kMad = 1.4826;
constexpr double kNormal95 = 1.959964;

/// Returns the relative standard error of a median from its 95% interval.
double relative_error(const MeasuredTime& time) {
  return (time.interval.high - time.interval.low) / (2.0 * kNormal95) / time.median;
}

}  // namespace

ProcessDeviation joined(const ProcessDeviation& one, const ProcessDeviation& other) {
  return {std::max(one.relative, other.relative), std::min(one.pairs, other.pairs)};
}

double test_times(MetricComparison& metric,
                  const MeasuredTime& before,
                  const MeasuredTime& after,
                  const ProcessDeviation& deviation,
                  double alpha) {
  const double left = relative_error(before);
  const double right = relative_error(after);
  metric.baseline = before.median.count();
  metric.candidate = after.median.count();
  metric.delta = metric.candidate - metric.baseline;
  const TrimmedMean log_ratio{
      .mean = std::log(metric.candidate / metric.baseline),
      .variance = left * left + right * right + 2.0 * deviation.relative * deviation.relative,
      .kept = 1.0,
      .freedom = static_cast<double>(std::max(deviation.pairs, kLeastDeviationPairs) - 1)};
  const double p = test_change(metric, log_ratio, alpha);
  metric.error = std::sqrt(log_ratio.variance) * metric.baseline;
  return p;
}

ProcessDeviation process_deviation(std::span<const StoredMeasurement> rows) {
  std::map<std::pair<std::string, std::string>, std::map<std::pair<Purpose, std::int64_t>, double>>
      times;
  for (const StoredMeasurement& row : rows) {
    const Measurement& measurement = row.measurement;
    if (measurement.cache != CacheMode::kNone || !measurement.outcome.ok() ||
        measurement.disturbance.disturbed || measurement.purpose == Purpose::kRace) {
      continue;
    }
    times[{measurement.key.text, measurement.variant}][{measurement.purpose, measurement.process}] =
        measurement.corrected().median.count();
  }
  std::vector<double> deviations;
  for (const auto& [name, processes] : times) {
    const double* before = nullptr;
    for (const auto& [process, time] : processes) {
      if (before != nullptr && *before > 0.0 && time > 0.0) {
        deviations.push_back(std::abs(std::log(time / *before)));
      }
      before = &time;
    }
  }
  ProcessDeviation result{kAssumedProcessDeviation, deviations.size()};
  if (deviations.size() >= kLeastDeviationPairs) {
    std::sort(deviations.begin(), deviations.end());
    const double median =
        (deviations[(deviations.size() - 1) / 2] + deviations[deviations.size() / 2]) / 2.0;
    result.relative = kMad * median / std::sqrt(2.0);
  }
  return result;
}

std::vector<double> process_log_times(std::span<const StoredMeasurement* const> rows,
                                      const std::string& variant) {
  std::map<std::int64_t, double> times;
  for (const StoredMeasurement* const row : rows) {
    const Measurement& measurement = row->measurement;
    const double median = measurement.corrected().median.count();
    if (measurement.variant == variant && measurement.cache == CacheMode::kNone &&
        measurement.outcome.timed() && measurement.purpose != Purpose::kRace &&
        !measurement.disturbance.disturbed && median > 0.0) {
      times[measurement.process] = std::log(median);
    }
  }
  std::vector<double> result;
  for (const auto& [process, time] : times) {
    result.push_back(time);
  }
  return result;
}

double test_processes(MetricComparison& metric,
                      std::span<const double> before,
                      std::span<const double> after,
                      double alpha) {
  const TrimmedMean left = trimmed_mean({before.begin(), before.end()});
  const TrimmedMean right = trimmed_mean({after.begin(), after.end()});
  const double left_error = left.variance / left.kept;
  const double right_error = right.variance / right.kept;
  const double error = left_error + right_error;
  const double freedom =
      error > 0.0
          ? error * error /
                (left_error * left_error / left.freedom + right_error * right_error / right.freedom)
          : left.freedom + right.freedom;
  metric.baseline = std::exp(left.mean);
  metric.candidate = std::exp(right.mean);
  metric.delta = metric.candidate - metric.baseline;
  metric.error = std::sqrt(error) * metric.baseline;
  return test_change(
      metric,
      {.mean = right.mean - left.mean, .variance = error, .kept = 1.0, .freedom = freedom},
      alpha);
}

}  // namespace plumb
