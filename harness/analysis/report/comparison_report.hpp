// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/compare/rounds/boot_comparison.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/analysis/explain/function_finding.hpp"
#include "harness/analysis/report/excluded_metrics.hpp"
#include "harness/results/labels/commit_link.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Raw times of a metric that changed, as each run measured them.
struct MetricSamples {
  std::string series;
  std::vector<Seconds> baseline;
  std::vector<Seconds> candidate;
};

/// Source of a comparison other than two runs that were each measured once.
struct ComparisonSource {
  std::string name;                          ///< takes the place of the runs' names
  std::string method;                        ///< how it was judged, and by which limits
  std::string command;                       ///< that repeats it
  std::vector<EnvironmentDifference> facts;  ///< of both sides
};

/// Boots of both sides, where boots were compared.
struct ComparedBoots {
  Seconds control{};          ///< that times are scaled to
  std::string baseline_name;  ///< as the user named the side
  std::string candidate_name;
  std::string baseline_left_out;  ///< "; RUN: why" for each run that is not used
  std::string candidate_left_out;
  std::vector<Boot> baseline;
  std::vector<Boot> candidate;
};

/// Contents of a report on a comparison of two runs. It is a value; every format renders the same
/// one.
struct RunComparisonReport {
  results::RunRecord baseline;
  results::RunRecord candidate;
  std::vector<std::string> varied;  ///< what differs on purpose
  ComparisonLimits limits;
  bool same_software =
      false;  ///< nothing that is recorded tells one run's software from the other's
  std::vector<EnvironmentDifference> environment_diff;
  RunComparison comparison;                   ///< without what is excluded
  std::vector<AppliedExclusion> exclusions;   ///< of the candidate's suite
  std::map<std::string, std::string> places;  ///< of a layer key: "conv1 of lenet, and 2 more"
  std::vector<MetricSamples> samples;
  std::vector<FunctionFinding> functions = {};  ///< that explain changes, from profiles
  std::string profile_with = {};  ///< command by which functions would be named; empty: they are,
                                  ///< or nothing changed
  std::vector<results::RunId> calibrations;  ///< that floors come from
  std::optional<ComparisonSource> source;
  std::optional<ComparedBoots> boots;
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

}  // namespace plumb::analysis
