// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/executor.hpp"
#include "harness/plan/planner.hpp"

namespace plumb {

/// Limits and log options for the scenarios of a run.
struct LoadLimits {
  std::function<std::optional<Seconds>()> left;  ///< of the run's budget; absent: no budget
  Seconds row_timeout{60.0};                     ///< in which something must go on
  std::filesystem::path mlperf_logs;             ///< empty: no logs
  bool accuracy = false;                         ///< one of them that of every sample's answer
};

/// Loads each model of a suite by each of its scenarios and in each mode (none given: plain), in a
/// worker process of its own, and stores what comes of it as the run's records of kind "load". What
/// is left of the budget is shared equally among those to come. Loads that the run has already are
/// left out, unless they were inconclusive. `stopped` is asked before each; returns false if it
/// ended the work.
bool execute_loads(Executor& executor,
                   Store& store,
                   const RunId& run,
                   const ResolvedSuite& suite,
                   std::span<const PlannedModel> models,
                   const Shard& shard,
                   const std::vector<ExecutionMode>& modes,
                   const LoadLimits& limits,
                   const std::function<bool()>& stopped);

/// Reads the loads that a run has stored, by subject, in the order in which they were stored.
[[nodiscard]] std::map<std::string, std::vector<LoadExecution>> loads_of(const Store& store,
                                                                         const RunId& run);

/// Returns the exit status that the loads of a run call for: 1 where one failed, 3 where one could
/// not be executed, 75 where one is inconclusive, else 0. The newest of each model, mode and
/// scenario counts.
[[nodiscard]] int exit_status_of(const std::map<std::string, std::vector<LoadExecution>>& loads);

}  // namespace plumb
