// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/analysis/bounds/slow_host.hpp"
#include "harness/analysis/report/run_report.hpp"
#include "harness/session/planner.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Writes the resolved suite as it is stored with a run, with a digest of each model's graph. So a
/// later analysis notices a model that changed after it was measured, and the suite's hash changes
/// with its models. `models` are all of the suite's, in its order.
[[nodiscard]] std::string suite_for_store(const ResolvedSuite& suite,
                                          std::span<const PlannedModel> models);

/// Reads back the models that a stored run measured, from the zoo or their files. Throws
/// Error{kUser} if a file is gone or a graph has changed since, naming it.
[[nodiscard]] std::vector<PlannedModel> models_of_run(const RunRecord& run);

/// A run's rows and executions, with what was measured on a slowed-down host marked as disturbed.
struct RunResults {
  std::vector<StoredMeasurement> rows;
  ModelExecutions executions;
};

/// Reads a run's results. A host is slow against the fastest pace of the run, or against `fastest`,
/// the pace of another run, if that is less.
[[nodiscard]] RunResults read_results(const Store& store,
                                      const RunId& run,
                                      std::optional<double> fastest = std::nullopt);

/// Analyses a stored run: bounds and what-ifs of each model. `only` names some models; empty: all.
/// Throws Error{kUser} if the run has none of them.
[[nodiscard]] RunReport analyze_run(const Store& store,
                                    const RunRecord& run,
                                    const std::vector<std::string>& only,
                                    const RunResults& run_results);
[[nodiscard]] RunReport analyze_run(const Store& store,
                                    const RunRecord& run,
                                    const std::vector<std::string>& only);

/// Stores the bounds and what-ifs of a report as derived records, with the analysis version and
/// their input rows. Stores the times of the run's processes too, from which noise is learned.
void store_analysis(Store& store, const RunReport& report);

}  // namespace plumb
