// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/analysis/report/bisection.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/stats/change_points.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Changes that were found in one history.
struct SeriesDetection {
  std::string id;
  stats::Detection detection;
};

/// Returns a change by its point, as JSON.
[[nodiscard]] analysis::Json change_point_json(const stats::ChangePoint& change);

/// Writes the output of `plumb compare --samples`.
void write_comparisons(std::span<const analysis::PairedAnswer> answers,
                       OutputMode style,
                       std::ostream& out);
/// Writes the output of `plumb detect` for histories from a file.
void write_detections(std::span<const SeriesDetection> series, OutputMode style, std::ostream& out);

/// Writes the output of `plumb bisect`.
void write_bisection(const analysis::Bisection& bisection, OutputMode style, std::ostream& out);

/// Writes the output of `plumb calibrate`.
void write_noise(const analysis::NoiseReport& report, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
