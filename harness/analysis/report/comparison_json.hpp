// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/comparison_report.hpp"
#include "harness/analysis/report/run_json.hpp"

namespace plumb::analysis {

[[nodiscard]] Json metric_json(const MetricComparison& metric);
[[nodiscard]] Json overall_json(const OverallChange& overall);
/// Returns attributions with the 95% interval of each term.
[[nodiscard]] Json attributions_json(std::span<const ModelAttribution> attributions);
[[nodiscard]] Json findings_json(std::span<const QualificationFinding> findings);

/// Returns a comparison of two runs. The store keeps it, and `plumb compare --json` prints it.
[[nodiscard]] Json comparison_document(const RunComparisonReport& report);

}  // namespace plumb::analysis
