// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/compare/metric_test.hpp"

namespace plumb {

/// Returns the exit status of a gate. It is 1 for a break or a regression, else 75 if something
/// stays open or nothing was judged, else 0.
[[nodiscard]] int gate_status(std::span<const ComparisonVerdict> verdicts);

}  // namespace plumb
