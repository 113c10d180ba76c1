// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/report/comparison_report.hpp"

namespace plumb::reporting {

/// Returns the texts on where a comparison of boots comes from. The report must have boots.
[[nodiscard]] analysis::ComparisonSource boot_source(const analysis::RunComparisonReport& report);

}  // namespace plumb::reporting
