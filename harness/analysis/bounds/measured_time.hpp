// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/units.hpp"
#include "harness/measure/sample_summary.hpp"

namespace plumb::analysis {

/// Positive time with its 95% interval.
struct MeasuredTime {
  Seconds median{};
  measure::Interval interval{};
};

}  // namespace plumb::analysis
