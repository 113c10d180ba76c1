// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/analyze/slow_host.hpp"
#include "harness/plan/planner.hpp"
#include "harness/store/store.hpp"
#include "reporting/report.hpp"

namespace plumb {

/// Writes the resolved suite as it is stored with a run: with a digest of each model's graph, so
/// that a later analysis notices when a model is no longer the one that was measured, and the hash
/// of a suite changes with its models. `models` are all of the suite's, in its order.
[[nodiscard]] std::string suite_for_store(const ResolvedSuite& suite,
                                          std::span<const PlannedModel> models);

/// Reads back the models that a stored run measured, from the zoo or their files.
/// Throws Error{kUser} if a file is gone or a graph has changed since, naming it.
[[nodiscard]] std::vector<PlannedModel> models_of_run(const RunRecord& run);

/// A run's rows and executions, with what was measured on a slowed-down host marked as disturbed.
struct RunResults {
  std::vector<StoredMeasurement> rows;
  ModelExecutions executions;
};

/// Reads a run's results. A host is slow against the fastest pace of the run, or against `fastest`,
/// a pace that another run saw, where that is less.
[[nodiscard]] RunResults read_results(const Store& store,
                                      const RunId& run,
                                      std::optional<double> fastest = std::nullopt);

/// Analyses a stored run: bounds and what-ifs of each model (`only` names some; empty: all).
[[nodiscard]] RunReport analyze_run(const Store& store,
                                    const RunRecord& run,
                                    const std::vector<std::string>& only,
                                    const RunResults& run_results);
[[nodiscard]] RunReport analyze_run(const Store& store,
                                    const RunRecord& run,
                                    const std::vector<std::string>& only);

/// Stores the bounds and what-ifs of a report as derived records, with the analysis version and
/// their input rows, and the times of the run's processes, of which noise is learned.
void store_analysis(Store& store, const RunReport& report);

}  // namespace plumb
