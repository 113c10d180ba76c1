// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/comparison_verdict.hpp"

#include <algorithm>
#include <string>

namespace plumb {

void choose_what_decides(std::span<MetricComparison* const> metrics) {
  const auto any = [&](const auto& wanted) {
    return std::any_of(
        metrics.begin(), metrics.end(), [&](const auto* metric) { return wanted(*metric); });
  };
  const auto of_kind = [](const char* kind) {
    return [kind](const MetricComparison& metric) { return metric.kind == kind; };
  };
  if (any([](const MetricComparison& metric) { return metric.decides; })) {
    return;
  }
  for (const char* const kind : {"end_to_end", "bound", "layer"}) {
    if (any(of_kind(kind))) {
      for (MetricComparison* const metric : metrics) {
        metric->decides = metric->kind == kind;
      }
      return;
    }
  }
}

ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics) {
  const auto any = [&](ComparisonVerdict verdict) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const auto& metric) {
      const bool breaks = verdict == ComparisonVerdict::kBroken ||
                          (verdict == ComparisonVerdict::kRegressed &&
                           (metric.kind == "accuracy" || metric.kind == "load"));
      return metric.verdict == verdict && (breaks || metric.decides);
    });
  };
  for (const ComparisonVerdict verdict : {ComparisonVerdict::kBroken,
                                          ComparisonVerdict::kRegressed,
                                          ComparisonVerdict::kInconclusive,
                                          ComparisonVerdict::kImproved,
                                          ComparisonVerdict::kEquivalent}) {
    if (any(verdict)) {
      return verdict;
    }
  }
  return ComparisonVerdict::kInconclusive;
}

void put_changes_first(std::vector<MetricComparison>& metrics) {
  const auto rank = [](const MetricComparison& metric) {
    return metric.verdict == ComparisonVerdict::kBroken      ? 0
           : metric.verdict == ComparisonVerdict::kRegressed ? 1
           : metric.verdict == ComparisonVerdict::kImproved  ? 2
                                                             : 3;
  };
  std::stable_sort(metrics.begin(), metrics.end(), [&](const auto& one, const auto& other) {
    return rank(one) < rank(other);
  });
}

}  // namespace plumb
