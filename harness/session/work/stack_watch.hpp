// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/worker/protocol/stack.hpp"

namespace plumb::session {

/// Watch over the files of a stack that a run's worker processes map. All of them must map the same
/// files, from the first to the last, sub-libraries that load late included.
class StackWatch {
 public:
  StackWatch() = default;
  explicit StackWatch(worker::Stack stack) : stack_(std::move(stack)) {}

  /// Notes what a worker has mapped, best just before it ends. A process that is gone adds nothing.
  void look(int pid);

  /// Reads the files again and returns a line for each fault. A fault is a file that was changed,
  /// removed or replaced while it was in use, or a library of which two processes mapped different
  /// files.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  worker::Stack stack_;
  std::map<std::filesystem::path, std::string> digests_;     ///< SHA-256 when it was first seen
  std::map<std::string, std::filesystem::path> by_library_;  ///< "libdnnl"
  std::vector<std::string> faults_;
};

}  // namespace plumb::session
