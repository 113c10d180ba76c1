// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/base/file_io.hpp"
#include "harness/base/units.hpp"

namespace plumb::worker {

/// Owner of a child process that leads a process group of its own. Ctrl-C on the terminal does not
/// reach the child, and what it starts dies with it. The child is killed when the thread that
/// started it ends, also by kill -9 (PR_SET_PDEATHSIG). Linux only. Not thread-safe.
class ChildProcess {
 public:
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

}  // namespace plumb::worker
