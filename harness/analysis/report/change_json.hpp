// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/bisect/bisection.hpp"
#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/analysis/report/run_json.hpp"

namespace plumb::analysis {

[[nodiscard]] Json metric_json(const MetricComparison& metric);
[[nodiscard]] Json overall_json(const RunComparison::Overall& overall);
/// Returns attributions with the 95% interval of each term.
[[nodiscard]] Json attributions_json(std::span<const RunComparison::Attribution> attributions);
[[nodiscard]] Json findings_json(std::span<const RunComparison::Finding> findings);

/// Returns a comparison of two runs. The store keeps it, and `plumb compare --json` prints it.
[[nodiscard]] Json comparison_document(const ComparisonReport& report);

/// Returns a search as `plumb bisect --json` prints it.
[[nodiscard]] Json bisection_document(const Bisection& bisection);

/// Returns a step of a search, as documents and the records of searches have it.
[[nodiscard]] Json step_json(const Bisection::Step& step, const Bisection& bisection);

/// Reads back a step of a search along the same line. Throws Error{kUser} that names
/// the field at fault.
[[nodiscard]] Bisection::Step step_from_json(const nlohmann::json& document);

/// Returns a noise report. The store keeps it, and `plumb calibrate --json` prints it.
[[nodiscard]] Json noise_document(const NoiseReport& report);

}  // namespace plumb::analysis
