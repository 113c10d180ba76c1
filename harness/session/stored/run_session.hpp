// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/protocol/stack.hpp"

namespace plumb::session {

/// One run while it is measured: its header and lease, the watch over its stack, and its end. A run
/// that began and is not finished when the session ends is kept as interrupted.
class RunSession {
 public:
  /// Watch over the files of a stack that a run's worker processes map. All of them must map the
  /// same files, from the first to the last, sub-libraries that load late included.
  class StackWatch {
   public:
    StackWatch() = default;
    explicit StackWatch(worker::Stack stack) : stack_(std::move(stack)) {}

    /// Notes what a worker has mapped, best just before it ends. A process that is gone adds
    /// nothing.
    void look(int pid);

    /// Reads the files again and returns a line for each fault. A fault is a file that was changed,
    /// removed or replaced while it was in use, or a library of which two processes mapped
    /// different files.
    [[nodiscard]] std::vector<std::string> faults() const;

   private:
    worker::Stack stack_;
    std::map<std::filesystem::path, std::string> digests_;     ///< SHA-256 when it was first seen
    std::map<std::string, std::filesystem::path> by_library_;  ///< "libdnnl"
    std::vector<std::string> faults_;
  };

  /// Watches the files of a stack. Keeps a reference to the store.
  RunSession(store::Store& store, const worker::Stack& stack) : store_(store), watch_(stack) {}
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;
  RunSession(RunSession&&) = delete;
  RunSession& operator=(RunSession&&) = delete;
  ~RunSession();

  /// Returns what to call with each worker of the run before it ends. The session must outlive it.
  [[nodiscard]] std::function<void(int pid)> watcher();

  /// Begins a new run in the store, now. Its id is the header's, or a new one if that is empty.
  void begin(results::RunHeader header);
  /// Takes over the newest unfinished run of the same suite, environment and shard that no process
  /// works on. A run whose stack changed or whose device erred is left alone. Returns false if
  /// there is none.
  [[nodiscard]] bool resume(const results::RunHeader& header);

  /// Joins the shared run of this name, id or tag, or begins it where there is none. Returns the
  /// number of this process in it; absent: the run is finished. Throws Error{kRefused} if it is of
  /// another suite or environment, and Error{kEnvironment} if its stack changed or a device erred.
  [[nodiscard]] std::optional<std::int64_t> join(const std::string& name,
                                                 const std::string& first_item,
                                                 const std::string& host,
                                                 std::chrono::milliseconds lease,
                                                 results::RunHeader header);

  [[nodiscard]] const results::RunHeader& header() const { return header_; }
  [[nodiscard]] const results::RunId& id() const { return header_.id; }

  /// Returns a line for each file of the stack that changed while the run was measured.
  [[nodiscard]] std::vector<std::string> stack_faults() const { return watch_.faults(); }
  /// Returns whether the results of a run do not count: its stack changed, or a device erred.
  [[nodiscard]] bool is_spoilt(const results::RunId& run) const;
  /// Stores faults of the stack with the run, so that it is never resumed.
  void keep_stack_faults(const std::vector<std::string>& faults);
  /// Stores the fault of a device with the run, so that it is never resumed.
  void keep_device_fault(const std::string& fault);

  /// Ends the run in this state. Its duration is that of the steady clock, whatever is done to the
  /// time of day, which is logged and stored.
  void finish(results::RunState state);

 private:
  [[nodiscard]] Timestamp end();

  store::Store& store_;
  StackWatch watch_;
  WorkClock clock_;
  results::RunHeader header_;
  bool running_ = false;
};

}  // namespace plumb::session
