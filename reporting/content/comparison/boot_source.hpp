// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/report/comparison_report.hpp"

namespace plumb {

/// Returns the texts on where a comparison of boots comes from. The report must have boots.
[[nodiscard]] ComparisonSource boot_source(const RunComparisonReport& report);

}  // namespace plumb
