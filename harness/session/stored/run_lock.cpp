// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb {

std::optional<RunLock> RunLock::try_acquire(const std::filesystem::path& folder, const RunId& run) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path path = folder / (run + ".lock");
  const int descriptor = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "cannot make the lock '{}' ({}): check the folder's permissions and the disk's space",
            path.string(),
            std::strerror(errno)));
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return std::nullopt;
  }
  return RunLock(descriptor, path);
}

RunLock::RunLock(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}

RunLock::RunLock(RunLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

RunLock::~RunLock() {
  if (descriptor_ >= 0) {
    std::error_code error;
    std::filesystem::remove(path_, error);
    close(descriptor_);
  }
}

}  // namespace plumb
