// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/base/units.hpp"

namespace plumb {

/// Interval for an unknown value, 95% unless stated otherwise.
struct Interval {
  Seconds low{};
  Seconds high{};
};

/// Sums up repeated timings of one thing.
struct SampleSummary {
  std::size_t n = 0;
  Seconds median{};
  Interval interval{};  ///< distribution-free 95% interval of the median, from order statistics
  Seconds min{};
  Seconds p90{};
  Seconds mean{};
  bool min_has_company =
      false;  ///< another sample lies within 2% of the minimum (or the median is that close)
};

/// Summarises samples in any order. n = 0 gives zeros with n = 0: callers must look at n.
/// The interval uses the exact binomial ranks (Conover, Practical Nonparametric Statistics, §3.2);
/// below six samples, where no pair of ranks reaches 95%, it is [min, max].
[[nodiscard]] SampleSummary summarize(std::span<const Seconds> samples);

/// Returns the p-quantile (0 ≤ p ≤ 1) of samples by linear interpolation between order statistics
/// (type 7 of Hyndman and Fan 1996). Zero for no samples.
[[nodiscard]] Seconds quantile(std::span<const Seconds> sorted, double p);

/// Returns the rank r, counted from 1, for which the r-th smallest and the r-th largest of `n`
/// samples enclose the median with the least coverage that is still 95%: the largest r with
/// P(Binomial(n, ½) < r) ≤ 2.5%. Absent below six samples.
[[nodiscard]] std::optional<std::size_t> median_interval_rank(std::size_t n);

/// Returns half the interval's width relative to the median; absent if the median is not positive.
[[nodiscard]] std::optional<double> relative_half_width(const SampleSummary& summary);

}  // namespace plumb
