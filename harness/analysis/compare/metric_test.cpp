// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/metric_test.hpp"

#include <algorithm>
#include <cmath>

#include "harness/stats/student_t.hpp"
#include "harness/stats/trimmed_mean.hpp"

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

}  // namespace plumb::analysis
