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
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> times;
  for (const StoredMeasurement& row : rows) {
    const Measurement& measurement = row.measurement;
    if (measurement.cache != CacheMode::kNone || !measurement.outcome.ok() ||
        measurement.disturbance.disturbed || measurement.purpose == Purpose::kRace) {
      continue;
    }
    auto& [full, confirmed] = times[{measurement.key.text, measurement.variant}];
    (measurement.purpose == Purpose::kFull ? full : confirmed) =
        measurement.corrected().median.count();
  }
  std::vector<double> deviations;
  for (const auto& [name, pair] : times) {
    if (pair.first > 0.0 && pair.second > 0.0) {
      deviations.push_back(std::abs(std::log(pair.second / pair.first)));
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

}  // namespace plumb
