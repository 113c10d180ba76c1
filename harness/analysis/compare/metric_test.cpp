// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/metric_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/stats/means.hpp"
#include "harness/stats/noise_estimate.hpp"

namespace plumb::analysis {
namespace {

constexpr double kPower = 0.8;  // at which the minimal detectable effect is found

ComparisonVerdict judge_change(const MetricComparison& metric, const ChangeLimits& limits) {
  const double change = *metric.ratio - 1.0;
  if (*metric.q < limits.level && std::abs(change) >= limits.floor && change != 0.0) {
    return change > 0.0 ? ComparisonVerdict::kRegressed : ComparisonVerdict::kImproved;
  }
  const double within = std::max(limits.margin, limits.floor);
  return metric.low > 1.0 - within && metric.high < 1.0 + within ? ComparisonVerdict::kEquivalent
                                                                 : ComparisonVerdict::kInconclusive;
}

}  // namespace

std::string_view to_text(ComparisonVerdict verdict) {
  switch (verdict) {
    case ComparisonVerdict::kBroken:
      return "broken";
    case ComparisonVerdict::kRegressed:
      return "regressed";
    case ComparisonVerdict::kImproved:
      return "improved";
    case ComparisonVerdict::kEquivalent:
      return "equivalent";
    case ComparisonVerdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

std::string_view to_text(MetricKind kind) {
  switch (kind) {
    case MetricKind::kEndToEnd:
      return "end_to_end";
    case MetricKind::kLayer:
      return "layer";
    case MetricKind::kCapability:
      return "capability";
    case MetricKind::kBound:
      return "bound";
    case MetricKind::kLoad:
      return "load";
    case MetricKind::kAlternation:
      return "alternation";
    case MetricKind::kCost:
      return "cost";
    case MetricKind::kAccuracy:
      return "accuracy";
    case MetricKind::kControl:
      return "control";
    case MetricKind::kReplay:
      return "replay";
    case MetricKind::kOverall:
      break;
  }
  return "overall";
}

ChangeLimits ComparisonLimits::of_model() const {
  return {alpha, end_to_end_floor, end_to_end_margin};
}

ChangeLimits ComparisonLimits::of_layer() const {
  return {false_discovery_rate, layer_floor, layer_margin};
}

double test_change(MetricComparison& metric, const stats::TrimmedMean& log_ratio, double alpha) {
  const double error = std::sqrt(log_ratio.variance / log_ratio.kept);
  const double reach = stats::t_quantile(0.975, log_ratio.freedom) * error;
  metric.ratio = std::exp(log_ratio.mean);
  metric.low = std::exp(log_ratio.mean - reach);
  metric.high = std::exp(log_ratio.mean + reach);
  metric.mde = std::expm1((stats::t_quantile(1.0 - alpha / 2.0, log_ratio.freedom) +
                           stats::t_quantile(kPower, log_ratio.freedom)) *
                          error);
  if (error <= 0.0) {
    return log_ratio.mean == 0.0 ? 1.0 : 0.0;
  }
  return stats::two_sided_p(log_ratio.mean / error, log_ratio.freedom);
}

void judge_family(std::span<const FamilyMember> family) {
  std::vector<double> weighted;
  for (const FamilyMember& member : family) {
    weighted.push_back(std::min(member.p, 1.0));
  }
  const std::vector<double> q = stats::false_discovery_q(weighted);
  for (std::size_t i = 0; i < family.size(); ++i) {
    MetricComparison& metric = *family[i].metric;
    metric.q = q[i];
    if (metric.reason.empty()) {
      metric.verdict = judge_change(metric, family[i].limits);
    }
  }
}

void judge_alone(MetricComparison& metric, double p, const ChangeLimits& limits) {
  const FamilyMember alone{&metric, p, limits};
  judge_family({&alone, 1});
}

std::string layer_key_of(const MetricComparison& metric) {
  const bool of_layer = is_detail(metric) && metric.model.empty();
  return of_layer ? metric.series.substr(metric.series.find('/') + 1) : std::string();
}

bool is_detail(const MetricComparison& metric) {
  return metric.kind == MetricKind::kLayer || metric.kind == MetricKind::kCapability ||
         metric.kind == MetricKind::kAccuracy;
}

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
