// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/session/mlperf/mlperf_submission.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Limits and log options for the scenarios of a run.
struct LoadLimits {
  std::function<std::optional<Seconds>()> left;     ///< of the run's budget; absent: no budget
  Seconds row_timeout{60.0};                        ///< of silence from a worker
  std::filesystem::path mlperf_logs = {};           ///< empty: no logs
  bool accuracy = false;                            ///< log the answer to every sample, too
  std::optional<MlperfSubmission> submission = {};  ///< to be written, with accuracy logs
  std::optional<std::uint64_t> sample_count = {};   ///< of the data set; absent: MLPerf's
};

/// Runs each scenario of a suite's chosen models, by index, in each mode (none given: plain). Each
/// takes a worker process of its own, and its result is stored as the run's record of kind "load".
/// Scenarios with a conclusive load in the run are left out. The others share what is left of the
/// budget equally. Returns false if `stopped`, asked before each, or the user ended the work.
bool execute_loads(const SessionContext& context,
                   Executor& executor,
                   const results::RunId& run,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models,
                   std::span<const std::size_t> chosen,
                   const std::vector<results::ExecutionMode>& modes,
                   const LoadLimits& limits,
                   const std::function<bool()>& stopped);

}  // namespace plumb::session
