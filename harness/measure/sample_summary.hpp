// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/base/units.hpp"

namespace plumb::measure {

/// Interval for an unknown value, of 95% unless stated otherwise.
struct Interval {
  Seconds low{};
  Seconds high{};
};

/// Median of a time, or a difference of two, with its 95% interval.
struct MeasuredTime {
  Seconds median{};
  Interval interval{};
};

/// Summary of repeated timings of one thing.
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

/// Returns whether the interval says anything. Of one sample it does not: its ends are the sample.
[[nodiscard]] inline bool has_interval(const SampleSummary& summary) {
  return summary.n > 1;
}

/// Summarises samples in any order. No samples give zeros and n = 0, so callers must look at n. The
/// interval uses the exact binomial ranks (Conover, Practical Nonparametric Statistics, §3.2).
/// Below six samples no pair of ranks reaches 95%, and the interval is [min, max].
[[nodiscard]] SampleSummary summarize(std::span<const Seconds> samples);

/// Returns the p-quantile of sorted samples, 0 ≤ p ≤ 1. Interpolates linearly between order
/// statistics (type 7 of Hyndman and Fan 1996). Zero for no samples.
[[nodiscard]] Seconds quantile(std::span<const Seconds> sorted, double p);

/// Returns the rank of the order statistics that enclose the median with 95% confidence. These are
/// the r-th smallest and the r-th largest of `n` samples, counted from 1. r is the largest with
/// P(Binomial(n, ½) < r) ≤ 2.5%, so that the coverage is the least that is still 95%. Absent below
/// six samples.
[[nodiscard]] std::optional<std::size_t> median_interval_rank(std::size_t n);

/// Returns half the interval's width relative to the median. Absent if the median is not positive.
[[nodiscard]] std::optional<double> relative_half_width(const SampleSummary& summary);

/// Returns the 95% interval of a time whose samples were taken in sections, between other work.
/// Neighbouring samples share what the machine does in that second. Sections do not.
///
/// `whole` is the estimate from all samples, and `of_sections` has the estimate of each section.
/// The interval is Student's t around `whole`, with one degree of freedom less than sections
/// (sectioning: Asmussen and Glynn, Stochastic Simulation, 2007, §III.5a). Below two sections the
/// spread is unknown, and the interval goes from zero to twice `whole`. It never begins below zero.
/// Pure.
[[nodiscard]] Interval section_interval(Seconds whole, std::span<const Seconds> of_sections);

}  // namespace plumb::measure
