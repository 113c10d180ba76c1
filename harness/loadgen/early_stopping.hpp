// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace plumb::loadgen {

/// Confidence that an end-to-end result must show, as in MLPerf Inference. At least `percentile` %
/// of all queries must keep a bound with this confidence, as if queries were independent. The rules
/// have it in the appendix "Early Stopping Criterion", with tolerance 0.
struct ConfidenceRule {
  double percentile = 99.0;  ///< in %, 0 < percentile < 100
  double confidence = 0.99;
};

/// Returns the fraction that a percentile in % stands for, without the rounding of a division. 99.9
/// gives the double nearest to 0.999.
[[nodiscard]] double fraction_of(double percent);

/// Returns the fewest queries of which `over` may exceed the bound. It is the least n with
/// P(Binomial(n, 1 - p) ≤ over) < 1 - confidence. That probability is I_p(n - over, over + 1), the
/// regularised incomplete beta function.
[[nodiscard]] std::uint64_t queries_needed(const ConfidenceRule& rule, std::uint64_t over);

/// Returns the rank, from the largest, of the latency that estimates the percentile. It is the
/// largest t ≥ 1 with queries_needed(t) ≤ `queries`. The t - 1 larger latencies are dropped. Absent
/// if there are too few queries for t = 1.
[[nodiscard]] std::optional<std::uint64_t> estimate_rank(const ConfidenceRule& rule,
                                                         std::uint64_t queries);

}  // namespace plumb::loadgen
