// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/planner.hpp"
#include "harness/plan/work_item.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

/// The progress of a run, given to a callback after each key.
struct Progress {
  std::size_t done = 0;
  std::size_t total = 0;
  std::string unit = "layers";  ///< what is counted
  std::string current;          ///< what is measured now, short
  Seconds elapsed{};
  std::optional<Seconds> left;  ///< absent until there is something to judge from
};

/// Options for the execution of a run.
struct ExecutorOptions {
  WorkerOptions worker;
  MeasureRequest request;             ///< key, caches and variants are filled in for each item
  std::optional<Seconds> budget;      ///< of the whole run
  Seconds row_timeout{60.0};          ///< of silence from a worker
  std::size_t keys_per_process = 32;  ///< a fresh process confirms what the one before it measured
  ConfirmationRule confirmation;      ///< by which the next process confirms
  /// Of a confirmation after the first: its processes are many, so that each need not be exact.
  SamplingPlan repeated{.warm_up_at_most = Seconds(0.01), .budget = Seconds(0.004)};
  std::function<void(int pid)> before_worker_ends;  ///< called with each worker still alive
};

/// The final state of a run, with counts of what was executed.
struct ExecutionSummary {
  RunState state =
      RunState::kFinished;  ///< kInterrupted: stopped by the user, the budget or a device's fault
  bool budget_ended = false;
  std::size_t measured = 0;  ///< keys
  std::size_t crashes = 0;
  std::size_t timeouts = 0;
  std::size_t processes = 0;
};

/// Executes work items in worker processes and appends what comes of them to a running run.
///
/// A key's rows are stored in one transaction when the key is done: a killed run loses the key in
/// progress and nothing else. A worker that dies or falls silent costs its key one row that says
/// so, and is replaced.
class Executor {
 public:
  /// `stop` may be set from a signal handler: the run ends after the key in progress.
  Executor(Store& store, ExecutorOptions options, const std::atomic<bool>& stop);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  Executor(Executor&&) = delete;
  Executor& operator=(Executor&&) = delete;

  /// Numbers the processes from here on after `last`, the last one that a resumed run has rows of.
  void number_processes_after(std::int64_t last) { processes_ = resumed_after_ = last; }
  /// Asks a worker what it runs on.
  [[nodiscard]] Environment describe();
  /// Measures the ceilings of this environment.
  [[nodiscard]] Calibration calibrate();
  /// Measures the machine's controls; absent where one got no time.
  [[nodiscard]] std::optional<Controls> measure_controls();
  /// Executes one model end to end in a fresh worker process, all modes in one; if that dies, each
  /// in one of its own. A worker that dies or in which nothing goes on is the mode's outcome. When
  /// the user stops the run, the worker is killed: none.
  [[nodiscard]] std::vector<Execution> execute_model(const ExecuteRequest& request,
                                                     const ExecuteReport& report);

  /// Loads one model by a scenario in a fresh worker process; a worker that dies, in which nothing
  /// goes on, or that runs far beyond the budget is the result's outcome. When the user stops the
  /// run, the worker is killed: kSkipped.
  [[nodiscard]] LoadExecution load_model(const LoadRequest& request,
                                         const std::function<void(const LoadProgress&)>& report);

  /// Ends the worker process, if there is one; the next request starts a fresh one.
  void end_worker();

  /// Measures and confirms the items; `unconfirmed` are left over from an interrupted run.
  [[nodiscard]] ExecutionSummary execute(const RunId& run,
                                         const std::vector<WorkItem>& items,
                                         std::vector<Confirmation> unconfirmed,
                                         const std::function<void(const Progress&)>& report);

  /// Measures confirmed keys once more, hot, in one fresh process, in the order given; returns
  /// false if `stopped`, asked before each key, ended that.
  bool repeat(const RunId& run,
              std::span<const Confirmation> keys,
              const std::function<bool()>& stopped,
              const std::function<void(const Progress&)>& report);

  /// Returns the device fault that makes all rows of this executor unreliable; empty if there is
  /// none. After a fault, execute() measures no more.
  [[nodiscard]] const std::string& device_fault() const { return device_fault_; }

  [[nodiscard]] const ExecutorOptions& options() const { return options_; }

 private:
  class LayerRun;
  WorkerProcess& worker();
  void look_for_fault(const Measurement& row);

  Store& store_;
  ExecutorOptions options_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<WorkerProcess> worker_;
  std::int64_t processes_ = 0;
  std::int64_t resumed_after_ = 0;
  std::string device_fault_;
};

}  // namespace plumb
