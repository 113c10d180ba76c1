// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/results/labels/run_labels.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/run/suspect_confirmation.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/mode_requests.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/stacks/built/build_cache.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Makes earlier rows part of a run, as the suite's policy allows. Returns the items that they do
/// not settle.
[[nodiscard]] std::vector<WorkItem> reuse_rows(store::Store& store,
                                               const RunSession& session,
                                               const suite::ResolvedSuite& suite,
                                               std::vector<WorkItem> items);

/// Measures the ceilings, unless the store has some of this environment that the policy allows.
void calibrate_run(store::Store& store,
                   const RunSession& session,
                   const suite::ReusePolicy& reuse,
                   Executor& executor);

/// Measures the machine's controls, for comparisons over boots and hosts. Returns whether that
/// worked.
bool control_run(store::Store& store, const RunSession& session, Executor& executor);

/// Options for measuring a suite on one stack.
struct SuiteRunOptions {
  /// How a process takes part in a run that several share.
  struct Sharing {
    std::string name{};  ///< of the run, or its id or tag; empty: the run is of this process alone
    std::string store_url{};                  ///< for the thread that renews the lease
    std::chrono::milliseconds lease{30'000};  ///< silence after which others take over its work
  };

  WorkerChoice worker{};
  std::vector<std::string> command;  ///< as it is recorded
  results::RunLabels labels;         ///< of what is measured
  std::string shard;                 ///< "I/N"; empty: everything
  bool layers = true;
  bool models = true;           ///< end to end
  bool loads = true;            ///< the scenarios of the suite
  WantedModes wanted;           ///< of models
  std::set<std::string> types;  ///< in which layers of f32 models are measured, beside those of
                                ///< modes that need times
  Seconds row_timeout{60.0};    ///< of silence from a worker
  std::size_t processes = 5;    ///< restarted ones that measure what decides
  Sharing join;                 ///< not together with a shard or `resume`
  bool resume = false;          ///< go on with the newest unfinished run, if there is one
  std::filesystem::path mlperf_logs;                      ///< empty: no logs
  std::filesystem::path mlperf_submission;                ///< empty: no submission
  std::string mlperf_submitter;                           ///< whose submission it is
  std::optional<std::uint64_t> performance_sample_count;  ///< of the data set; absent: MLPerf's
  bool accuracy = false;                                  ///< log the answer to every sample, too
  ProfiledTime profiled = ProfiledTime::kPass;            ///< of models end to end
  std::optional<Seconds> profile_budget;         ///< of the pass; absent: kPassShare of the run
  std::optional<ConfirmationPlan> confirmation;  ///< absent: suspects are not measured again
};

/// Stack that a command of the user's has just built.
struct BuiltStack {
  std::string stack;          ///< absolute path of its folder
  results::RunLabels labels;  ///< the commit, where the folder lies in a git repository
};

/// Runs a build command by `sh -c` in the working folder. Absent: the user stopped it. Throws
/// Error{kUser} with the end of its log if it fails, or if the folder is then no stack.
[[nodiscard]] std::optional<BuiltStack> build_stack(const stacks::BuildRecipe& recipe,
                                                    const std::atomic<bool>& stop,
                                                    ProgressDisplay& display);

}  // namespace plumb::session
