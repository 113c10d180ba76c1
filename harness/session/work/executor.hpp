// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Receiver of what a worker sampled of a mode while it timed it.
using TakeSamples = std::function<void(const results::ExecutionMode&, worker::Profile)>;

/// Executor of work items in worker processes. It appends their rows to a running run.
///
/// A key's rows are stored in one transaction when the key is done. So a killed run loses the key
/// in progress and nothing else. A worker that dies or falls silent is replaced. One that died is
/// asked again in its new process; if that dies too, or the worker fell silent, its key gets one
/// row with the reason for each cache mode.
class Executor {
 public:
  /// Options for the execution of a run.
  struct Options {
    worker::WorkerProcess::Options worker;
    worker::WorkerService::MeasureRequest
        request;                    ///< key, caches and variants are filled in for each item
    std::optional<Seconds> budget;  ///< of one call of execute()
    Seconds row_timeout{60.0};      ///< of silence from a worker
    std::size_t keys_per_process =
        32;  ///< a fresh process confirms what the one before it measured
    WorkSource::Confirmation::Rule confirmation;  ///< by which the next process confirms
    /// Sampling of a confirmation after the first. Many processes repeat it, so each may be less
    /// exact.
    measure::SamplingPlan repeated{.warm_up_at_most = Seconds(0.01), .budget = Seconds(0.004)};
    std::function<void(int pid)> before_worker_ends;  ///< called with each worker still alive
  };

  /// Final state of a call of execute(), with counts of what was executed.
  struct Summary {
    results::RunState state = results::RunState::kFinished;  ///< kInterrupted: stopped by the user,
                                                             ///< the budget or a device's fault
    bool budget_ended = false;
    std::size_t measured = 0;  ///< keys
    std::size_t crashes = 0;
    std::size_t timeouts = 0;
    std::size_t processes = 0;
  };

  /// Keeps references to `store` and `stop`. A signal handler may set `stop`: then the run ends
  /// after the key in progress.
  Executor(store::Store& store, Options options, const std::atomic<bool>& stop);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  Executor(Executor&&) = delete;
  Executor& operator=(Executor&&) = delete;

  /// Numbers processes after `last`, the last one that a resumed run has rows of. The process that
  /// described itself already is one of them.
  void number_processes_after(std::int64_t last) {
    processes_ += last;
    resumed_after_ = last;
  }
  /// Names the host in each row from now on.
  void name_host(std::string host) { host_ = std::move(host); }
  /// Returns the environment that a worker describes. Throws Error{kEnvironment} with the last
  /// words of the worker if a second one is lost, too.
  [[nodiscard]] results::Environment describe();
  /// Measures the ceilings of this environment. Throws as describe() does.
  [[nodiscard]] results::Calibration calibrate();
  /// Measures the machine's controls. Absent: one of them got no time.
  [[nodiscard]] std::optional<results::Controls> measure_controls();
  /// Executes one model end to end in a fresh worker process, all modes in one. If that process
  /// dies, each mode gets one of its own. A worker that dies or falls silent is the mode's outcome.
  /// When the user stops the run, the worker is killed and the result is empty. `take` gets what
  /// was sampled of each mode that was timed, while its worker is alive.
  [[nodiscard]] std::vector<results::Execution> execute_model(const worker::ExecuteRequest& request,
                                                              const worker::ExecuteReport& report,
                                                              const TakeSamples& take = {});

  /// Runs one scenario of a model in a fresh worker process. If the worker refuses, dies, falls
  /// silent or runs far beyond the budget, that is the result's outcome. When the user stops the
  /// run, the worker is killed and the outcome is kSkipped.
  [[nodiscard]] results::ScenarioResult run_scenario(
      const worker::LoadRequest& request,
      const std::function<void(const worker::LoadRequest::Progress&)>& report);

  /// Executes a model in several shapes in a fresh worker process, or in a second one if it dies,
  /// and notes in `row` when, where, with what outcome, and what disturbed it. Absent: the worker
  /// refused, died again or took too long, or the user stopped the run (kSkipped).
  [[nodiscard]] std::optional<worker::Alternation> alternate(
      const worker::Alternation::Request& request, results::Measurement& row);

  /// Ends the worker process, if there is one. The next request starts a fresh one.
  void end_worker();

  /// Measures and confirms the items. `unconfirmed` are keys left over from an interrupted run.
  [[nodiscard]] Summary execute(
      const results::RunId& run,
      WorkSource& items,
      std::vector<WorkSource::Confirmation> unconfirmed,
      const std::function<void(const ProgressDisplay::Progress&)>& report);

  /// Measures confirmed keys once more in one fresh process, in the order given. `stopped` is asked
  /// before each key. Returns false if it ended the work.
  bool repeat(const results::RunId& run,
              std::span<const WorkSource::Confirmation> keys,
              const std::function<bool()>& stopped,
              const std::function<void(const ProgressDisplay::Progress&)>& report);

  /// Returns the device fault that makes all rows of this executor unreliable; empty: none. After a
  /// fault, execute() measures no more.
  [[nodiscard]] const std::string& device_fault() const { return device_fault_; }

  [[nodiscard]] const Options& options() const { return options_; }
  /// Returns the longest time that one of its workers took to start. Zero: none was started.
  [[nodiscard]] Seconds longest_start() const { return longest_start_; }

 private:
  class LayerRun;
  worker::WorkerProcess& worker();
  /// Notes in a row where it was measured.
  void mark(results::Measurement& row) const;
  void look_for_fault(const results::Measurement& row);
  /// Passes on what the worker sampled of the modes that it timed. A failure is logged.
  void pass_samples(const std::vector<results::Execution>& executions, const TakeSamples& take);
  /// Calls `ask`, and once more with a new worker if the worker crashed or, `even_if_hung`, fell
  /// silent. Throws WorkerDied.
  void with_second_try(const std::string& what,
                       bool even_if_hung,
                       const std::function<void()>& ask);
  /// As with_second_try(), but throws Error{kEnvironment}: there is no row that could say it.
  void ask_surely(const std::string& what, const std::function<void()>& ask);

  store::Store& store_;
  Options options_;
  std::string host_;  ///< attribute of each row; empty: none
  const std::atomic<bool>& stop_;
  std::unique_ptr<worker::WorkerProcess> worker_;
  Seconds longest_start_{};
  std::int64_t processes_ = 0;
  std::int64_t resumed_after_ = 0;
  std::string device_fault_;
};

}  // namespace plumb::session
