// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/report/noise_report.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {

/// Writes the output of `plumb calibrate`.
void write_noise(const NoiseReport& report, OutputMode style, std::ostream& out);

}  // namespace plumb
