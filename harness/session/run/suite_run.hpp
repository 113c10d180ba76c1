// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/run.hpp"
#include "harness/session/run/suspect_confirmation.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Options for measuring a suite on one stack.
struct SuiteRunOptions {
  std::string stack = "default";
  std::vector<std::string> command;  ///< as it is recorded
  results::RunLabels labels;         ///< of what is measured
  std::string shard;                 ///< "I/N"; empty: everything
  bool layers = true;
  bool models = true;                         ///< end to end
  bool loads = true;                          ///< the scenarios of the suite
  std::vector<results::ExecutionMode> modes;  ///< of models; none: every mode that the run has
                                              ///< times for
  Bytes workspace_cap = analysis::kDefaultWorkspaceCap;  ///< of each layer in the mode micro_batch
  Seconds row_timeout{60.0};                             ///< of silence from a worker
  int threads = 1;
  std::string device;                 ///< see worker::WorkerSetup
  std::size_t processes = 5;          ///< restarted ones that measure what decides
  bool resume = false;                ///< go on with the newest unfinished run, if there is one
  std::filesystem::path mlperf_logs;  ///< empty: no logs
  std::filesystem::path mlperf_submission;                ///< empty: no submission
  std::string mlperf_submitter;                           ///< whose submission it is
  std::optional<std::uint64_t> performance_sample_count;  ///< of the data set; absent: MLPerf's
  bool accuracy = false;                                  ///< log the answer to every sample, too
  std::optional<ConfirmationPlan> confirmation;  ///< absent: suspects are not measured again
};

/// Outcome of measuring a suite.
struct SuiteRunOutcome {
  results::RunId run;
  results::RunState state = results::RunState::kInterrupted;
  bool budget_ended = false;              ///< of a run whose rows count
  std::vector<std::string> stack_faults;  ///< files of the stack that changed; none: it is sound
  std::string device_fault;               ///< empty: the device is sound
};

/// Refuses a run that could not be compared with a baseline, before anything is measured: a worker
/// is started and describes itself. Throws Error{kRefused} if they differ in more than `varied`
/// names.
void refuse_unlike(const results::RunRecord& baseline,
                   std::span<const std::string> varied,
                   const SuiteRunOptions& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models);

/// Measures a suite on one stack to the end, or until the user stops it or its budget ends. What
/// looks slower than a baseline is measured again, if that is asked for. `models` are all of the
/// suite's, in its order.
[[nodiscard]] SuiteRunOutcome run_suite(const SessionContext& context,
                                        const SuiteRunOptions& options,
                                        const suite::ResolvedSuite& suite,
                                        std::span<const PlannedModel> models);

}  // namespace plumb::session
