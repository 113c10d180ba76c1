// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "harness/analysis/bounds/execution_time.hpp"

namespace plumb::analysis {

/// A positive number with its 95% interval. Its unit is that of the quantity it belongs to.
struct Estimate {
  double value = 0.0;
  std::optional<double> low;  ///< absent: the number has no interval
  std::optional<double> high;
};

/// Returns a time as an estimate. Absent: it is not above zero, or not finite. An interval that
/// does not hold the time, or begins at zero, is left out.
[[nodiscard]] std::optional<Estimate> make_estimate(Seconds time,
                                                    const measure::Interval& interval);
[[nodiscard]] std::optional<Estimate> make_estimate(double value,
                                                    std::optional<double> low,
                                                    std::optional<double> high);

/// Returns `above` ÷ `below`, which were measured independently of each other. The distances of the
/// ends from the values are added in quadrature, as logarithms. No interval where one has none.
[[nodiscard]] Estimate ratio_of(const Estimate& above, const Estimate& below);

/// Returns factor ÷ value: a rate of a time.
[[nodiscard]] Estimate rate_of(double factor, const Estimate& value);

/// Returns the middle of what several runs found for one thing. Of an even number it is the
/// geometric mean of the two in the middle. One run keeps its own interval. Of two runs, the
/// interval spans both. From three on, it is Student's over the logarithms of the runs' values,
/// around the middle. Needs at least one. Pure.
[[nodiscard]] Estimate middle_of(std::span<const Estimate> runs);

}  // namespace plumb::analysis
