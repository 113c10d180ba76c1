// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/comparison_verdict.hpp"

#include <algorithm>
#include <string>

namespace plumb {

ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics) {
  const auto has = [&](const char* kind) {
    return std::any_of(
        metrics.begin(), metrics.end(), [&](const auto& metric) { return metric.kind == kind; });
  };
  const std::string decisive = has("bound") ? "bound" : has("end_to_end") ? "end_to_end" : "";
  const auto decides = [&](const MetricComparison& metric) {
    return decisive.empty() ? metric.kind != "accuracy" && metric.kind != "load" &&
                                  metric.kind != "control" && metric.kind != "cost"
                            : metric.kind == decisive;
  };
  const auto any = [&](ComparisonVerdict verdict) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const auto& metric) {
      const bool bad =
          verdict == ComparisonVerdict::kBroken || verdict == ComparisonVerdict::kRegressed;
      return metric.verdict == verdict && (bad || decides(metric));
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
