// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/run_comparison.hpp"
#include "harness/results/run.hpp"
#include "reporting/documents.hpp"
#include "reporting/output_format.hpp"

namespace plumb {

/// Holds the raw times of a metric that changed, as each run took them.
struct MetricSamples {
  std::string series;
  std::vector<Seconds> baseline;
  std::vector<Seconds> candidate;
};

/// Is a comparison of two runs with what names it: a value; every format renders the same one.
struct RunComparisonReport {
  RunRecord baseline;
  RunRecord candidate;
  std::vector<std::string> varied;  ///< what differs on purpose
  ComparisonLimits limits;
  std::vector<EnvironmentDifference> environment_diff;
  RunComparison comparison;
  std::map<std::string, std::string> places;  ///< of a layer key: "conv1 of lenet, and 2 more"
  std::vector<MetricSamples> samples;
  std::vector<RunId> calibrations;  ///< that floors come from
};

/// `plumb compare BASE CAND`
void write_run_comparison(const RunComparisonReport& report, Style style, std::ostream& out);

/// Lists what `plumb compare -o` and `plumb report BASE..CAND -o` write: a page, Markdown for a
/// pull request, JUnit (what got worse is a failure, what stays open is skipped), JSON, text, and
/// workflow commands that a GitHub step prints as annotations.
[[nodiscard]] std::span<const OutputFormat<RunComparisonReport>> comparison_formats();

}  // namespace plumb
