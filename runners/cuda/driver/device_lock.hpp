// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/base/file_descriptor.hpp"

namespace plumb::cuda {

/// Lock on one GPU against other workers, of all users of this machine. It locks a file named after
/// the GPU, and the system releases it whenever the process ends.
class DeviceLock {
 public:
  /// Takes the lock, which workers that take turns share: `harness` is the process that lets them
  /// take turns. Absent: the lock is this worker's alone. Throws Error{kTryAgain} naming the
  /// process that has it, and Error{kEnvironment} if the file cannot be made or written.
  explicit DeviceLock(const std::string& uuid,
                      const std::filesystem::path& folder = std::filesystem::temp_directory_path(),
                      std::optional<int> harness = {});

 private:
  FileDescriptor file_;
};

}  // namespace plumb::cuda
