// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_result.hpp"

#include <algorithm>

namespace plumb::analysis {

std::optional<Seconds> predicted_saving(const WhatIfResult& result) {
  const bool known = result.why_not.empty() && result.baseline && result.predicted;
  return known ? std::optional(*result.baseline - *result.predicted) : std::nullopt;
}

void conclude(WhatIfResult& result, const MeasuredTime& baseline, const MeasuredTime& predicted) {
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
