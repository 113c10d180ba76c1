// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/worker/client/child_process.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {

/// Composes the environment of a worker as "NAME=value", sorted. Later parts win:
/// - `surroundings` (in the form of environ(7)) without the variables that tune a library, see
///   Stack;
/// - the number of OpenMP threads, bound to cores if there are several;
/// - the stack's folders in front of LD_LIBRARY_PATH;
/// - the stack's variables;
/// - what run_worker() needs.
///
/// Throws Error{kUser} for paths that no variable can carry.
[[nodiscard]] std::vector<std::string> worker_environment(const Stack& stack,
                                                          int threads,
                                                          int channel,
                                                          const char* const* surroundings);

/// Finds the executable `plumb-worker-BACKEND`. The first of these folders that has it counts:
/// - `search_path`, in order;
/// - the folders of PLUMB_WORKER_PATH, separated by ':';
/// - `libexec/plumb` beside this program or above it, as installed and as in a build tree.
///
/// Throws Error{kEnvironment} that names these folders and what to build or install.
[[nodiscard]] std::filesystem::path find_worker(
    const std::string& backend, const std::vector<std::filesystem::path>& search_path);

/// Lists the backends whose workers find_worker() would find, sorted.
[[nodiscard]] std::vector<std::string> worker_backends(
    const std::vector<std::filesystem::path>& search_path);

inline constexpr const char* kWorkerDigest = "worker.sha256";

/// Returns the variables of a stack that are part of an environment's identity, each by its name.
/// They are named in capitals. Paths are left out, since the files behind them identify themselves,
/// and so are settings of the harness (PLUMB_*). A digest stands for a file that a value names.
[[nodiscard]] results::Facts stack_identity(const Stack& stack);

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
  /// Options for starting a worker.
  struct Options {
    Stack stack;
    WorkerService::Setup setup;  ///< without the stack's libraries, which the start adds
    std::vector<std::filesystem::path>
        search_path;  ///< where plumb-worker-BACKEND may lie, first wins
    /// Fastest pace of the host in all rows so far, passed on with each request. All processes that
    /// are started with copies of these options share it.
    std::shared_ptr<results::Measurement::FastestPace> pace =
        std::make_shared<results::Measurement::FastestPace>();
    Seconds start_timeout{120.0};    ///< libraries of half a gigabyte may come from a slow disk
    Seconds request_timeout{120.0};  ///< for describe, variants, calibrate, preview and reproduce
  };

  /// Starts the worker. Throws Error{kEnvironment}, saying what to install or build, if there is no
  /// such worker or its hello does not fit.
  explicit WorkerProcess(const Options& options);
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
  [[nodiscard]] results::EngineChoices preview(const WorkerService::PreviewRequest& request);
  /// Returns the source of a program that does what rows did.
  [[nodiscard]] Reproducer reproduce(const Reproducer::Request& request);
  /// Executes a model under the library's own profiler. `timeout` bounds the whole.
  [[nodiscard]] Trace trace(const Trace::Request& request,
                            Seconds timeout,
                            const std::function<bool()>& keep_running);
  /// Executes a model in several shapes. `timeout` bounds the whole. Counts an answer with another
  /// number of times as a bad frame.
  [[nodiscard]] Alternation alternate(const Alternation::Request& request,
                                      Seconds timeout,
                                      const std::function<bool()>& keep_running);
  /// Asks for samples of a model's executions. `timeout` and `keep_running` as in trace().
  [[nodiscard]] Profile profile(const Profile::Request& request,
                                Seconds timeout,
                                const std::function<bool()>& keep_running);
  /// Asks for what the last execute() sampled of a mode. The worker forgets it then. `timeout`
  /// bounds the whole.
  [[nodiscard]] Profile take_samples(const results::ExecutionMode& mode, Seconds timeout);
  /// Asks the worker to write a model that code of the user builds. Returns false if it runs no
  /// such code. `timeout` bounds the whole.
  [[nodiscard]] bool export_model(const WorkerService::ExportRequest& request,
                                  Seconds timeout,
                                  const std::function<bool()>& keep_running);
  /// Passes each row to `emit` as it arrives. `timeout` bounds the silence between two rows, not
  /// the whole. If `emit` throws, the worker is killed and the exception reaches the caller.
  void measure(const WorkerService::MeasureRequest& request,
               Seconds timeout,
               const std::function<void(results::Measurement)>& emit);

  /// Passes the execution of each mode to `emit` as it arrives; `emit` as in measure(). `timeout`
  /// bounds the time without progress: without an execution or a larger share. `keep_running` as in
  /// load().
  void execute(const ExecuteRequest& request,
               Seconds timeout,
               const std::function<void(results::Execution)>& emit,
               const std::function<bool(const ExecuteRequest::Progress&)>& keep_running);

  /// Begins a measurement or an execution, which goes on in take_turn(). Arguments as in measure()
  /// and execute(). The callbacks are kept until the request is complete.
  void begin_measurement(const WorkerService::MeasureRequest& request,
                         Seconds timeout,
                         std::function<void(results::Measurement)> emit);
  void begin_execution(const ExecuteRequest& request,
                       Seconds timeout,
                       std::function<void(results::Execution)> emit,
                       const std::function<bool(const ExecuteRequest::Progress&)>& keep_running);
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
      const std::function<bool(const LoadRequest::Progress&)>& keep_running);

  [[nodiscard]] int pid() const;
  /// Returns the last lines that the worker wrote to stdout and stderr (at most 64 KiB).
  [[nodiscard]] std::string log_tail() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Returns the facts with which a worker is started:
/// - `worker.sha256`: the digest of its file;
/// - `stack.variables`: the stack's variables, with a digest in place of each file that one names;
/// - `worker.variables`: inherited variables that change how any program runs (LD_PRELOAD,
///   GLIBC_TUNABLES, MALLOC_*, PLUMB_TEST_*).
///
/// A fact is empty where there are no such variables. `surroundings` is in the form of environ(7).
/// Throws Error{kEnvironment} if there is no such worker.
[[nodiscard]] results::Facts started_facts(const WorkerProcess::Options& options,
                                           const char* const* surroundings);

}  // namespace plumb::worker
