// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "harness/worker/file_descriptor.hpp"

namespace plumb {

/// Reads a pipe in a thread of its own and keeps only its last bytes, so that a writer that floods
/// it neither blocks nor eats memory. Thread-safe.
class LogTail {
 public:
  static constexpr std::size_t kKept = std::size_t{64} << 10;  ///< bytes

  /// Takes over the reading end. Throws Error{kEnvironment} if the system has no thread or
  /// descriptor left.
  explicit LogTail(FileDescriptor pipe);
  /// Stops reading, also if some process still holds the writing end.
  ~LogTail();
  LogTail(LogTail&&) = delete;
  LogTail& operator=(LogTail&&) = delete;
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  /// Returns the last kKept bytes of all that has been written so far.
  [[nodiscard]] std::string text() const;
  /// Returns the last line that is not empty, at most 200 characters, printable; empty if there is
  /// none.
  [[nodiscard]] std::string last_line() const;
  /// Waits, at most a quarter of a second, until the writers are gone and everything is read.
  void drain();

 private:
  void read_until_stopped();
  /// Reads what is there, without waiting; returns whether there may be more. Wants the mutex.
  bool read_piece() const;

  FileDescriptor pipe_;
  FileDescriptor stop_;  ///< an eventfd
  mutable std::mutex mutex_;
  std::condition_variable ended_condition_;
  mutable std::string kept_;
  mutable bool ended_ = false;
  std::thread thread_;
};

}  // namespace plumb
