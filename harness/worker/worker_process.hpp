// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/results/host_pace.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/stack.hpp"
#include "harness/worker/worker_service.hpp"

namespace plumb {

/// Options for starting a worker.
struct WorkerOptions {
  Stack stack;
  int threads = 1;
  std::vector<std::filesystem::path>
      search_path;  ///< where plumb-worker-BACKEND may lie, first wins
  /// What its workers see of the host's pace, and are told of it: one for all processes that are
  /// started with copies of these options.
  std::shared_ptr<FastestPace> pace = std::make_shared<FastestPace>();
  Seconds start_timeout{20.0};
  Seconds request_timeout{120.0};  ///< for describe, variants, calibrate, preview and reproduce
};

/// Owns one worker process: spawns it with its own descriptor for frames, captures its stdout and
/// stderr as a log, ends it (by request, then TERM, then KILL) when destroyed. Not thread-safe; the
/// thread that makes it must outlive it, for the system kills the worker when that thread ends, so
/// that no worker survives a kill -9 of its harness.
///
/// Every call may throw WorkerDied; bad frames count as death. A dead worker is replaced by the
/// caller, and answers every further call with the same WorkerDied. What a living worker refuses is
/// thrown as the Error it reports.
class WorkerProcess {
 public:
  /// Throws Error{kEnvironment} if there is no such worker or its hello does not fit, saying what
  /// to install or build.
  explicit WorkerProcess(const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Returns what the worker says of its library and device, with what it was started as
  /// (started_facts()).
  [[nodiscard]] Environment describe();
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key);
  [[nodiscard]] Calibration calibrate();
  /// Asks what the library would choose on a described device.
  [[nodiscard]] EngineChoices preview(const PreviewRequest& request);
  /// Asks for the source of a program that does what rows did.
  [[nodiscard]] Reproducer reproduce(const ReproducerRequest& request);
  /// Hands on each row as it arrives. `timeout` bounds the silence between two rows, not the whole.
  /// If `emit` throws, the worker is killed and the exception goes on to the caller.
  void measure(const MeasureRequest& request,
               Seconds timeout,
               const std::function<void(Measurement)>& emit);

  /// Hands on the execution of each mode as it arrives; `emit` as in measure(). `timeout` bounds
  /// the time in which nothing goes on: no execution, no larger share. `go_on` as in load().
  void execute(const ExecuteRequest& request,
               Seconds timeout,
               const std::function<void(Execution)>& emit,
               const std::function<bool(const ExecuteProgress&)>& go_on);

  /// Waits for the one answer. `timeout` bounds the time in which nothing goes on: no batch, no new
  /// phase. `go_on` is asked about once a second; when it says no, the worker is killed and the
  /// outcome of the WorkerDied is kSkipped.
  [[nodiscard]] LoadExecution load(const LoadRequest& request,
                                   Seconds timeout,
                                   const std::function<bool(const LoadProgress&)>& go_on);

  [[nodiscard]] int pid() const;
  /// Returns the last lines that the worker wrote to stdout and stderr (at most 64 KiB).
  [[nodiscard]] std::string log_tail() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Error of a worker process that ended, hung or broke the protocol during a request. The row in
/// progress gets `outcome`.
class WorkerDied : public std::runtime_error {
 public:
  explicit WorkerDied(Outcome outcome)
      : std::runtime_error(outcome.reason), outcome_(std::move(outcome)) {}
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  Outcome outcome_;  ///< kCrashed ("signal 11 (SIGSEGV)") or kTimedOut
};

}  // namespace plumb
