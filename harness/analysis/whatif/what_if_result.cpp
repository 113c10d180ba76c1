// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_result.hpp"

#include <algorithm>
#include <cmath>

namespace plumb::analysis {

std::optional<Seconds> predicted_saving(const WhatIfResult& result) {
  const bool known = result.why_not.empty() && result.baseline && result.predicted;
  return known ? std::optional(*result.baseline - *result.predicted) : std::nullopt;
}

std::optional<measure::MeasuredTime> saving_with_interval(const WhatIfResult& result) {
  const std::optional<Seconds> saving = predicted_saving(result);
  if (!saving) {
    return std::nullopt;
  }
  const measure::Interval& before = result.baseline_interval;
  const measure::Interval& after = result.predicted_interval;
  const double below =
      std::hypot((*result.baseline - before.low).count(), (after.high - *result.predicted).count());
  const double above =
      std::hypot((before.high - *result.baseline).count(), (*result.predicted - after.low).count());
  return measure::MeasuredTime{*saving, {*saving - Seconds(below), *saving + Seconds(above)}};
}

void conclude(WhatIfResult& result,
              const measure::MeasuredTime& baseline,
              const measure::MeasuredTime& predicted) {
  result.baseline = baseline.median;
  result.baseline_interval = baseline.interval;
  result.predicted = predicted.median;
  result.predicted_interval = predicted.interval;
  if (predicted.median > Seconds{}) {
    result.predicted_speedup = baseline.median / predicted.median;
  }
  std::stable_sort(
      result.layers.begin(), result.layers.end(), [](const auto& left, const auto& right) {
        return left.before - left.after > right.before - right.after;
      });
}

}  // namespace plumb::analysis
