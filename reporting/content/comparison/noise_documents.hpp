// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/report/noise_report.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb calibrate`.
void write_noise(const analysis::NoiseReport& report, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
