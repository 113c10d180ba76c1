// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/report/noise_report.hpp"
#include "harness/analysis/report/run_json.hpp"

namespace plumb::analysis {

/// Returns a noise report. The store keeps it, and `plumb calibrate --json` prints it.
[[nodiscard]] Json noise_document(const NoiseReport& report);

}  // namespace plumb::analysis
