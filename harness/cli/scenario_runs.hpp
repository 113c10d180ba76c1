// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/session/executor.hpp"
#include "harness/session/mlperf/mlperf_submission.hpp"
#include "harness/session/planner.hpp"

namespace plumb {

/// Limits and log options for the scenarios of a run.
struct LoadLimits {
  std::function<std::optional<Seconds>()> left;     ///< of the run's budget; absent: no budget
  Seconds row_timeout{60.0};                        ///< of silence from a worker
  std::filesystem::path mlperf_logs = {};           ///< empty: no logs
  bool accuracy = false;                            ///< log the answer to every sample, too
  std::optional<MlperfSubmission> submission = {};  ///< to be written, with accuracy logs
  std::optional<std::uint64_t> sample_count = {};   ///< of the data set; absent: MLPerf's
};

/// Runs each scenario of a suite's models in each mode (none given: plain). Each takes a worker
/// process of its own, and its result is stored as the run's record of kind "load". Scenarios with
/// a conclusive load in the run are left out. The others share what is left of the budget equally.
/// Returns false if `stopped`, asked before each, or the user ended the work.
bool execute_loads(Executor& executor,
                   Store& store,
                   const RunId& run,
                   const ResolvedSuite& suite,
                   std::span<const PlannedModel> models,
                   const Shard& shard,
                   const std::vector<ExecutionMode>& modes,
                   const LoadLimits& limits,
                   const std::function<bool()>& stopped);

/// Reads the loads that a run has stored, by subject, in the order stored.
[[nodiscard]] std::map<std::string, std::vector<ScenarioResult>> loads_of(const Store& store,
                                                                          const RunId& run);

/// Returns the exit status for the loads of a run. It is 1 if one failed or its worker died, 3 if
/// one was refused, 75 if one is inconclusive, else 0. Only the newest of each model, mode and
/// scenario counts.
[[nodiscard]] int exit_status_of(const std::map<std::string, std::vector<ScenarioResult>>& loads);

}  // namespace plumb
