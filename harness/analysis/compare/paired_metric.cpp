// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/paired_metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/stats/noise_estimate.hpp"

namespace plumb::analysis {
namespace {

std::string find_fault(const PairedSamples& samples) {
  if (samples.baseline.size() != samples.candidate.size()) {
    return fmt::format(
        "{} rounds of the baseline and {} of the candidate do not form pairs: give both the same "
        "number",
        samples.baseline.size(),
        samples.candidate.size());
  }
  for (std::size_t i = 0; i < samples.baseline.size(); ++i) {
    for (const double time : {samples.baseline[i], samples.candidate[i]}) {
      if (!std::isfinite(time) || time <= 0.0) {
        return fmt::format("round {} has the time {} s, which is not a positive number", i, time);
      }
    }
  }
  if (samples.baseline.size() < kMinPairs) {
    return fmt::format("{} pairs, but at least {} are needed to show a change",
                       samples.baseline.size(),
                       kMinPairs);
  }
  return {};
}

}  // namespace

double compute_median(std::vector<double> values) {
  PLUMB_CHECK(!values.empty());
  return stats::compute_median(values);
}

PairedMetric paired_metric(const PairedSamples& samples, std::string series, MetricKind kind) {
  PairedMetric metric;
  metric.result.series = std::move(series);
  metric.result.kind = kind;
  metric.result.reason = find_fault(samples);
  if (!metric.result.reason.empty()) {
    return metric;
  }
  std::vector<double> logs;
  std::vector<double> differences;
  for (std::size_t i = 0; i < samples.baseline.size(); ++i) {
    logs.push_back(std::log(samples.candidate[i] / samples.baseline[i]));
    differences.push_back(samples.candidate[i] - samples.baseline[i]);
  }
  metric.result.baseline = compute_median(samples.baseline);
  metric.result.candidate = compute_median(samples.candidate);
  metric.log_ratio = stats::trimmed_mean(std::move(logs));
  const stats::TrimmedMean difference = stats::trimmed_mean(std::move(differences));
  metric.result.delta = difference.mean;
  metric.result.error = std::sqrt(difference.variance / difference.kept);
  return metric;
}

}  // namespace plumb::analysis
