// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/boot_comparison.hpp"
#include "harness/analyze/run_comparison.hpp"
#include "harness/results/run.hpp"
#include "reporting/documents.hpp"
#include "reporting/output_format.hpp"
#include "reporting/report.hpp"

namespace plumb {

/// Raw times of a metric that changed, as each run took them.
struct MetricSamples {
  std::string series;
  std::vector<Seconds> baseline;
  std::vector<Seconds> candidate;
};

/// Source of a comparison other than two runs that were each measured once.
struct ComparisonSource {
  struct Fact {
    std::string name;
    std::string baseline;
    std::string candidate;
  };
  std::string name;         ///< takes the place of the runs' names
  std::string method;       ///< how it was judged, and by which limits
  std::string command;      ///< that makes it again
  std::vector<Fact> facts;  ///< of both sides
};

/// Lists the boots of both sides, where boots were compared.
struct ComparedBoots {
  std::vector<Boot> baseline;
  std::vector<Boot> candidate;
};

/// Comparison of two runs with what names it. It is a value; every format renders the same one.
struct RunComparisonReport {
  RunRecord baseline;
  RunRecord candidate;
  std::vector<std::string> varied;  ///< what differs on purpose
  ComparisonLimits limits;
  bool same_software =
      false;  ///< nothing that is recorded tells one run's software from the other's
  std::vector<EnvironmentDifference> environment_diff;
  RunComparison comparison;
  std::map<std::string, std::string> places;  ///< of a layer key: "conv1 of lenet, and 2 more"
  std::vector<MetricSamples> samples;
  std::vector<RunId> calibrations;  ///< that floors come from
  std::optional<ComparisonSource> source;
  std::optional<ComparedBoots> boots;
};

/// `plumb compare BASE CAND`
void write_run_comparison(const RunComparisonReport& report, Style style, std::ostream& out);

/// `plumb run --json`: the document of `bound`, with its comparison as `comparison` where there is
/// one of each run; with several stacks one with a list `runs` of them.
void write_measured_runs(std::span<const RunReport> reports,
                         std::span<const RunComparisonReport> comparisons,
                         std::ostream& out);

/// Lists what `plumb compare -o` and `plumb report BASE..CAND -o` write: a page, Markdown for a
/// pull request, JUnit (what got worse is a failure, what stays open is skipped), JSON, text, and
/// workflow commands that a GitHub step prints as annotations.
[[nodiscard]] std::span<const OutputFormat<RunComparisonReport>> comparison_formats();

}  // namespace plumb
