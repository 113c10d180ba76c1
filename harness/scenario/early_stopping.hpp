// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace plumb {

/// Confidence that an end-to-end result must show, as in MLPerf Inference (rules, appendix "Early
/// Stopping Criterion"; tolerance 0). The result must show that at least `percentile` % of all
/// queries would keep a bound, with this confidence, as if queries were independent.
struct ConfidenceRule {
  double percentile = 99.0;  ///< in %, 0 < percentile < 100
  double confidence = 0.99;
};

/// Returns the fraction that a percentile in % stands for, free of the division's rounding:
/// 99.9 gives the double nearest to 0.999.
[[nodiscard]] double fraction_of(double percent);

/// Returns the fewest queries of which `over` may exceed the bound: the least n with
/// P(Binomial(n, 1 - p) ≤ over) < 1 - confidence, which is I_p(n - over, over + 1), the regularised
/// incomplete beta function.
[[nodiscard]] std::uint64_t queries_needed(const ConfidenceRule& rule, std::uint64_t over);

/// Returns the largest t ≥ 1 with queries_needed(t) ≤ `queries`: the t-th largest latency is the
/// estimate of the percentile, so t - 1 are dropped. Absent where there are too few queries for 1.
[[nodiscard]] std::optional<std::uint64_t> estimate_rank(const ConfidenceRule& rule,
                                                         std::uint64_t queries);

}  // namespace plumb
