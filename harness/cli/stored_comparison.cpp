// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/stored_comparison.hpp"

#include <fmt/format.h>

#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/run_analysis.hpp"

namespace plumb {
namespace {

/// Throws Error{kRefused} if the runs differ in more than is meant to differ.
void check_alike(const RunComparisonReport& report, std::span<const std::string> varied) {
  std::string unlike;
  for (const EnvironmentDifference& difference : report.environment_diff) {
    if (difference.identity && !is_varied(difference.name, varied)) {
      unlike += fmt::format(
          "\n  {}: '{}' and '{}'", difference.name, difference.baseline, difference.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the runs were measured in unlike environments:" + unlike +
                    "\nname what differs on purpose: --vary stack, --vary driver, --vary FACT");
  }
  const RunHeader& left = report.baseline.header;
  const RunHeader& right = report.candidate.header;
  if (left.suite_hash != right.suite_hash && !is_varied("suite", varied)) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the runs are of different suites: '{}' ({:.12}) and '{}' ({:.12}); "
                            "--vary suite compares what both have",
                            left.suite,
                            left.suite_hash,
                            right.suite,
                            right.suite_hash));
  }
}

std::vector<ModelBounds> bounds_in(const RunReport& report) {
  std::vector<ModelBounds> bounds;
  for (const ModelReport& model : report.models) {
    bounds.push_back(model.bounds);
  }
  return bounds;
}

}  // namespace

RunComparisonReport compare_stored_runs(const Store& store,
                                        const std::string& baseline,
                                        const std::string& candidate,
                                        std::span<const std::string> varied,
                                        const ComparisonLimits& limits) {
  RunComparisonReport report;
  report.baseline = store.find_run(baseline);
  report.candidate = store.find_run(candidate);
  report.environment_diff =
      environment_diff(report.baseline.header.environment, report.candidate.header.environment);
  check_alike(report, varied);
  const RunReport left = analyze_run(store, report.baseline, {});
  const RunReport right = analyze_run(store, report.candidate, {});
  const ResultSet left_results(left.rows, left.calibration);
  const ResultSet right_results(right.rows, right.calibration);
  const std::vector<ModelBounds> left_bounds = bounds_in(left);
  const std::vector<ModelBounds> right_bounds = bounds_in(right);
  report.comparison =
      compare_runs({left_results, left_bounds}, {right_results, right_bounds}, limits);
  return report;
}

}  // namespace plumb
