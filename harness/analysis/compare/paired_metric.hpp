// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"

namespace plumb::analysis {

inline constexpr std::size_t kMinPairs = 3;  ///< fewest that can show a change

/// Times of one metric on both sides, in seconds. Round i of one side was measured next to round i
/// of the other, each in a restarted process.
struct PairedSamples {
  std::string name;
  std::vector<double> baseline;
  std::vector<double> candidate;
};

/// Statistics of one metric's pairs, before corrections for its family.
struct PairedMetric {
  MetricComparison result;  ///< times and delta; a reason where they cannot be compared
  std::optional<stats::TrimmedMean> log_ratio;  ///< of candidate ÷ baseline; absent with a reason
};

/// Computes the statistics of one metric's pairs. Fewer than three pairs, sides of different
/// length, and times that are not positive give a reason instead. Pure.
[[nodiscard]] PairedMetric paired_metric(const PairedSamples& samples,
                                         std::string series,
                                         MetricKind kind = MetricKind::kLayer);

/// Returns the median of at least one value, in any order.
[[nodiscard]] double compute_median(std::vector<double> values);

}  // namespace plumb::analysis
