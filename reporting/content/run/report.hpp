// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/report/run_report.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

using ReportFormat = OutputFormat<analysis::RunReport>;
[[nodiscard]] std::span<const ReportFormat> report_formats();

}  // namespace plumb::reporting
