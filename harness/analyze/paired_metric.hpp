// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analyze/metric_test.hpp"

namespace plumb {

inline constexpr std::size_t kLeastPairs = 3;  ///< that can show a change

/// Times of one metric under both sides, in seconds. Round i of one side was measured next to round
/// i of the other, each in a restarted process.
struct PairedSamples {
  std::string name;
  std::vector<double> baseline;
  std::vector<double> candidate;
};

/// Statistics of one metric's pairs, before its family has been looked at.
struct PairedMetric {
  MetricComparison result;  ///< times and delta; a reason where they cannot be compared
  std::optional<TrimmedMean> log_ratio;  ///< of candidate ÷ baseline; absent with a reason
};

/// Looks at the pairs of one metric. Fewer than three, sides of unlike length, and times that are
/// not positive give a reason. Pure.
[[nodiscard]] PairedMetric paired_metric(const PairedSamples& samples,
                                         std::string series,
                                         std::string kind);

/// Returns the middle of some values, which may come in any order; there must be one.
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace plumb
