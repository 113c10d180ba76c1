// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/worker/stack.hpp"

namespace plumb {

/// Watches that all worker processes of a run have mapped the same files of their stack, from the
/// first to the last, sub-libraries that load late included.
class StackWatch {
 public:
  StackWatch() = default;
  explicit StackWatch(Stack stack) : stack_(std::move(stack)) {}

  /// Looks at what a worker has mapped, best just before it ends; a process that is gone shows
  /// nothing.
  void look(int pid);

  /// Reads the files again and returns a line for each fault: a file that changed or was replaced
  /// while it was in use, and a library of which two processes mapped different files.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  Stack stack_;
  std::map<std::filesystem::path, std::string> digests_;     ///< SHA-256 when it was first seen
  std::map<std::string, std::filesystem::path> by_library_;  ///< "libdnnl"
  std::vector<std::string> faults_;
};

}  // namespace plumb
