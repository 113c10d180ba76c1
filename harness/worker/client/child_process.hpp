// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::worker {

/// Owner of a child process that leads a process group of its own. Ctrl-C on the terminal does not
/// reach the child, and what it starts dies with it. The child is killed when the thread that
/// started it ends, also by kill -9 (PR_SET_PDEATHSIG). Linux only. Not thread-safe.
class ChildProcess {
 public:
  /// Last bytes of a pipe, read by a thread of its own. A writer that floods the pipe neither
  /// blocks nor exhausts memory. Thread-safe.
  class Log {
   public:
    static constexpr std::size_t kKept = std::size_t{64} << 10;  ///< bytes

    /// Takes over the reading end and starts the thread. Throws Error{kEnvironment} if the system
    /// has no thread or descriptor left.
    explicit Log(FileDescriptor pipe);
    /// Stops reading, also if some process still holds the writing end.
    ~Log();
    Log(Log&&) = delete;
    Log& operator=(Log&&) = delete;
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// Returns the last kKept bytes of all that has been written so far.
    [[nodiscard]] std::string text() const;
    /// Returns the last line that is not empty, cut to 200 characters. Other than printable ASCII
    /// becomes '?'. Empty: there is no such line.
    [[nodiscard]] std::string last_line() const;
    /// Waits until the writers are gone and everything is read, at most 250 ms.
    void drain();

   private:
    void read_until_stopped();
    /// Reads what is there, without waiting. Returns whether there may be more. The caller holds
    /// the mutex.
    bool read_piece() const;

    FileDescriptor pipe_;
    FileDescriptor stop_;  ///< an eventfd
    mutable std::mutex mutex_;
    std::condition_variable ended_condition_;
    mutable std::string kept_;
    mutable bool ended_ = false;
    std::thread thread_;
  };

  static constexpr int kChannel = 3;  ///< number of the socket in the child

  /// Starts a program (an absolute path) with `arguments` (without its name) and exactly this
  /// environment ("NAME=value"). The child has no descriptors but stdin (/dev/null), stdout and
  /// stderr (both the log) and kChannel. Throws Error{kEnvironment} if the system refuses.
  ChildProcess(const std::string& program,
               const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment);
  /// Kills the whole group if it still runs.
  ~ChildProcess();
  ChildProcess(ChildProcess&&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Returns this side's end of the socket, or of the log's pipe, and gives up its ownership. Call
  /// each once.
  [[nodiscard]] FileDescriptor take_channel() { return std::move(channel_); }
  [[nodiscard]] FileDescriptor take_log() { return std::move(log_); }

  /// Waits at most `at_most` for the child to end. Returns its wait status (see wait(2)). Empty: it
  /// still runs.
  std::optional<int> wait(Seconds at_most);
  /// Sends SIGTERM to the group.
  void ask_to_end();
  /// Kills the group and returns the child's wait status.
  int kill();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  FileDescriptor channel_;
  FileDescriptor log_;
};

/// Returns how a process ended, in words: "signal 11 (SIGSEGV)", "exited with status 3".
[[nodiscard]] std::string exit_text(int wait_status);

/// Error of a worker process that ended, hung or broke the protocol during a request. The row in
/// progress gets its outcome.
class WorkerDied : public std::runtime_error {
 public:
  explicit WorkerDied(results::Outcome outcome)
      : std::runtime_error(outcome.reason), outcome_(std::move(outcome)) {}
  [[nodiscard]] const results::Outcome& outcome() const { return outcome_; }

 private:
  results::Outcome outcome_;  ///< kCrashed ("signal 11 (SIGSEGV)"), kTimedOut or kSkipped
};

/// Makes an Error{kEnvironment} of a worker's death, for what has no row to say it in. `what` is
/// what the worker was doing: "calibrating".
[[nodiscard]] Error lost_worker(const WorkerDied& death, const std::string& what);

}  // namespace plumb::worker
