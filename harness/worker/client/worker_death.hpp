// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::worker {

/// Last bytes of a pipe, read by a thread of its own. A writer that floods the pipe neither blocks
/// nor exhausts memory. Thread-safe.
class LogTail {
 public:
  static constexpr std::size_t kKept = std::size_t{64} << 10;  ///< bytes

  /// Takes over the reading end and starts the thread. Throws Error{kEnvironment} if the system has
  /// no thread or descriptor left.
  explicit LogTail(FileDescriptor pipe);
  /// Stops reading, also if some process still holds the writing end.
  ~LogTail();
  LogTail(LogTail&&) = delete;
  LogTail& operator=(LogTail&&) = delete;
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  /// Returns the last kKept bytes of all that has been written so far.
  [[nodiscard]] std::string text() const;
  /// Returns the last line that is not empty, cut to 200 characters. Other than printable ASCII
  /// becomes '?'. Empty: there is no such line.
  [[nodiscard]] std::string last_line() const;
  /// Waits until the writers are gone and everything is read, at most 250 ms.
  void drain();

 private:
  void read_until_stopped();
  /// Reads what is there, without waiting. Returns whether there may be more. The caller holds the
  /// mutex.
  bool read_piece() const;

  FileDescriptor pipe_;
  FileDescriptor stop_;  ///< an eventfd
  mutable std::mutex mutex_;
  std::condition_variable ended_condition_;
  mutable std::string kept_;
  mutable bool ended_ = false;
  std::thread thread_;
};

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
