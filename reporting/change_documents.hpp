// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/change_points.hpp"
#include "harness/analyze/paired_comparison.hpp"
#include "harness/analyze/run_comparison.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// Is what was found in one history.
struct SeriesDetection {
  std::string id;
  Detection detection;
};

/// `plumb compare --samples`
void write_comparisons(std::span<const PairedAnswer> answers, Style style, std::ostream& out);
/// Is a comparison of two runs with what names it.
struct RunComparisonReport {
  RunRecord baseline;
  RunRecord candidate;
  std::vector<EnvironmentDifference> environment_diff;
  RunComparison comparison;
};
/// `plumb compare BASE CAND`
void write_run_comparison(const RunComparisonReport& report, Style style, std::ostream& out);
/// `plumb detect`
void write_detections(std::span<const SeriesDetection> series, Style style, std::ostream& out);

}  // namespace plumb
