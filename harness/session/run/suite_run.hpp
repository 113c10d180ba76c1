// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/run.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/run/model_runs.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "harness/stacks/built/build_cache.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Lists the keys of a run that fewer than `processes` fresh processes have confirmed.
[[nodiscard]] std::vector<WorkSource::Confirmation> unconfirmed_keys(const store::Store& store,
                                                                     const results::RunId& run,
                                                                     std::size_t processes);

/// Returns the number of the last process that a run has results of; 0: none.
[[nodiscard]] std::int64_t last_process(const store::Store& store, const results::RunId& run);

/// Makes earlier rows part of a run, as the suite's policy allows. Returns the items that they do
/// not settle.
[[nodiscard]] std::vector<WorkSource::Item> reuse_rows(store::Store& store,
                                                       const RunSession& session,
                                                       const suite::ResolvedSuite& suite,
                                                       std::vector<WorkSource::Item> items);

/// Measures the ceilings, unless the store has some of this environment that the policy allows.
void calibrate_run(store::Store& store,
                   const RunSession& session,
                   const suite::ResolvedSuite::Reuse& reuse,
                   Executor& executor);

/// Measures the machine's controls, for comparisons over boots and hosts. Returns whether that
/// worked.
bool control_run(store::Store& store, const RunSession& session, Executor& executor);

/// Outcome of measuring a suite.
struct SuiteRun {
  /// Second measurement of what looks slower than a baseline, at the end of a run.
  class SuspectConfirmation {
   public:
    /// Baseline against which suspects of a run are measured again.
    struct Plan {
      results::RunId baseline;
      std::vector<std::string> varied;  ///< what differs from it on purpose
      std::size_t processes = 5;        ///< fresh ones, where the baseline's stack is not at hand
    };

    /// Keeps references to all arguments. `processes` are those that the run itself took.
    SuspectConfirmation(const SessionContext& context,
                        RunSession& session,
                        Executor& executor,
                        const suite::ResolvedSuite& suite,
                        std::span<const PlannedModel> models,
                        const Plan& plan,
                        std::size_t processes)
        : context_(context),
          session_(session),
          executor_(executor),
          suite_(suite),
          models_(models),
          plan_(plan),
          processes_(processes) {}

    /// Measures suspects again before they count as slower. If the baseline's stack is at hand,
    /// that is done in pairs with it, else in fresh processes. `start` is when the run began, on
    /// the steady clock: about a quarter of its time is spent at most.
    void confirm(Seconds start, int threads, ModelRuns& runs);

   private:
    [[nodiscard]] analysis::PairedConfirmation::Suspects suspects(
        analysis::PairedConfirmation::Suspects::Rule rule) const;
    [[nodiscard]] bool confirm_in_pairs(Seconds start, int threads);
    void confirm_alone(Seconds start, ModelRuns& runs);

    const SessionContext& context_;
    RunSession& session_;
    Executor& executor_;
    const suite::ResolvedSuite& suite_;
    std::span<const PlannedModel> models_;
    const Plan& plan_;
    std::size_t processes_;
  };

  /// Options for measuring a suite on one stack.
  struct Options {
    /// Stack that a command of the user's has just built.
    struct BuiltStack {
      std::string stack;          ///< absolute path of its folder
      results::RunLabels labels;  ///< the commit, where the folder lies in a git repository
    };

    /// How a process takes part in a run that several share.
    struct Sharing {
      std::string
          name{};  ///< of the run, or its id or tag; empty: the run is of this process alone
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
    RunProfiles::When profiled = RunProfiles::When::kPass;  ///< of models end to end
    std::optional<Seconds> profile_budget;  ///< of the pass; absent: kPassShare of the run
    std::optional<SuspectConfirmation::Plan>
        confirmation;  ///< absent: suspects are not measured again
  };

  results::RunId run;
  results::RunState state = results::RunState::kInterrupted;
  bool budget_ended = false;              ///< of a run whose rows count
  bool measured_last = false;             ///< of a shared run: this process measured the last of it
  std::vector<std::string> stack_faults;  ///< files of the stack that changed; none: it is sound
  std::string device_fault;               ///< empty: the device is sound
};

/// Runs a build command by `sh -c` in the working folder. Absent: the user stopped it. Throws
/// Error{kUser} with the end of its log if it fails, or if the folder is then no stack.
[[nodiscard]] std::optional<SuiteRun::Options::BuiltStack> build_stack(
    const stacks::BuildCache::Recipe& recipe,
    const std::atomic<bool>& stop,
    ProgressDisplay& display);

/// Refuses a run that could not be compared with a baseline, before anything is measured: a worker
/// is started and describes itself. Throws Error{kRefused} if they differ in more than `varied`
/// names.
void refuse_unlike(const results::RunRecord& baseline,
                   std::span<const std::string> varied,
                   const SuiteRun::Options& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models);

/// Measures a suite on one stack to the end, or until the user stops it or its budget ends. What
/// looks slower than a baseline is measured again, if that is asked for. `models` are all of the
/// suite's, in its order.
[[nodiscard]] SuiteRun run_suite(const SessionContext& context,
                                 const SuiteRun::Options& options,
                                 const suite::ResolvedSuite& suite,
                                 std::span<const PlannedModel> models);

}  // namespace plumb::session
