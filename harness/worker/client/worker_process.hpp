// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/worker/client/worker_death.hpp"
#include "harness/worker/client/worker_start.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::worker {

/// Owner of one worker process. It starts the worker with its own descriptor for frames and keeps
/// the end of its stdout and stderr as a log. Destruction ends the worker by request, then SIGTERM,
/// then SIGKILL. Not thread-safe. The thread that makes it must outlive it: the system kills the
/// worker when that thread ends, so that no worker survives a kill -9 of its harness.
///
/// Every call may throw WorkerDied. Bad frames count as death. A dead worker throws the same
/// WorkerDied on every further call; the caller replaces it. What a living worker refuses is thrown
/// as the Error that it reports.
class WorkerProcess {
 public:
  /// Starts the worker. Throws Error{kEnvironment}, saying what to install or build, if there is no
  /// such worker or its hello does not fit.
  explicit WorkerProcess(const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Returns the environment that the worker reports, with what it was started as
  /// (started_facts()).
  [[nodiscard]] results::Environment describe();
  [[nodiscard]] std::vector<Variant> variants(const model::LayerKey& key);
  [[nodiscard]] results::Calibration calibrate();
  /// Returns what the library would choose on a described device.
  [[nodiscard]] results::EngineChoices preview(const PreviewRequest& request);
  /// Returns the source of a program that does what rows did.
  [[nodiscard]] Reproducer reproduce(const ReproducerRequest& request);
  /// Executes a model under the library's own profiler. `timeout` bounds the whole.
  [[nodiscard]] Trace trace(const TraceRequest& request,
                            Seconds timeout,
                            const std::function<bool()>& keep_running);
  /// Executes a model in several shapes. `timeout` bounds the whole. Counts an answer with another
  /// number of times as a bad frame.
  [[nodiscard]] Alternation alternate(const AlternateRequest& request,
                                      Seconds timeout,
                                      const std::function<bool()>& keep_running);
  /// Asks for samples of a model's executions. `timeout` and `keep_running` as in trace().
  [[nodiscard]] Profile profile(const ProfileRequest& request,
                                Seconds timeout,
                                const std::function<bool()>& keep_running);
  /// Asks for what the last execute() sampled of a mode. The worker forgets it then. `timeout`
  /// bounds the whole.
  [[nodiscard]] Profile take_samples(const results::ExecutionMode& mode, Seconds timeout);
  /// Asks the worker to write a model that code of the user builds. Returns false if it runs no
  /// such code. `timeout` bounds the whole.
  [[nodiscard]] bool export_model(const ExportRequest& request,
                                  Seconds timeout,
                                  const std::function<bool()>& keep_running);
  /// Passes each row to `emit` as it arrives. `timeout` bounds the silence between two rows, not
  /// the whole. If `emit` throws, the worker is killed and the exception reaches the caller.
  void measure(const MeasureRequest& request,
               Seconds timeout,
               const std::function<void(results::Measurement)>& emit);

  /// Passes the execution of each mode to `emit` as it arrives; `emit` as in measure(). `timeout`
  /// bounds the time without progress: without an execution or a larger share. `keep_running` as in
  /// load().
  void execute(const ExecuteRequest& request,
               Seconds timeout,
               const std::function<void(results::Execution)>& emit,
               const std::function<bool(const ExecuteProgress&)>& keep_running);

  /// Begins a measurement or an execution, which goes on in take_turn(). Arguments as in measure()
  /// and execute(). The callbacks are kept until the request is complete.
  void begin_measurement(const MeasureRequest& request,
                         Seconds timeout,
                         std::function<void(results::Measurement)> emit);
  void begin_execution(const ExecuteRequest& request,
                       Seconds timeout,
                       std::function<void(results::Execution)> emit,
                       const std::function<bool(const ExecuteProgress&)>& keep_running);
  /// Continues what was begun until the worker awaits its next turn, as it does for requests that
  /// are in_turns. The first turn prepares. Returns false once the request is complete.
  [[nodiscard]] bool take_turn();

  /// Waits for the one answer. `timeout` bounds the time without progress: without a batch or a new
  /// phase. `keep_running` is called about twice a second, with the last progress where there is no
  /// new one. If it returns false, the worker is killed and the outcome of the WorkerDied is
  /// kSkipped.
  [[nodiscard]] results::ScenarioResult load(
      const LoadRequest& request,
      Seconds timeout,
      const std::function<bool(const LoadProgress&)>& keep_running);

  [[nodiscard]] int pid() const;
  /// Returns the last lines that the worker wrote to stdout and stderr (at most 64 KiB).
  [[nodiscard]] std::string log_tail() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace plumb::worker
