// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/worker/file_descriptor.hpp"

namespace plumb::cuda {

/// Keeps other workers of this machine's users off one GPU while it lives: an exclusive lock on a
/// file named after it, given back by the system whenever the process ends.
class DeviceLock {
 public:
  /// Throws Error{kTryAgain} naming the process that has it, Error{kEnvironment} if the file cannot
  /// be made.
  explicit DeviceLock(const std::string& uuid,
                      const std::filesystem::path& folder = std::filesystem::temp_directory_path());

 private:
  FileDescriptor file_;
};

}  // namespace plumb::cuda
