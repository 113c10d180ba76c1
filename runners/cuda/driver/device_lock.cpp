// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/base/error.hpp"

namespace plumb::cuda {
namespace {

/// Returns the process that the file names. It is only a hint, for the message.
std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "unknown";
}

/// Opens a file that all users share, and makes it if it is absent. In a sticky folder, Linux may
/// refuse O_CREAT for what another user made, whatever its mode (fs.protected_regular), so the two
/// are tried apart.
FileDescriptor open_shared(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int file = open(path.c_str(), kFlags);
  if (file < 0 && errno == ENOENT) {
    file = open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  }
  if (file < 0 && errno == EEXIST) {
    file = open(path.c_str(), kFlags);  // another worker was quicker
  }
  return FileDescriptor(file);
}

}  // namespace

DeviceLock::DeviceLock(const std::string& uuid,
                       const std::filesystem::path& folder,
                       std::optional<int> harness) {
  const std::filesystem::path path = folder / fmt::format("plumb-{}.lock", uuid);
  file_ = open_shared(path);
  if (file_.number() < 0) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot open the GPU's lock '{}' ({}): remove that file, or name another "
                    "folder with TMPDIR",
                    path.string(),
                    std::strerror(errno)));
  }
  // All users may open it, whatever the umask. Another user's file has this mode already.
  static_cast<void>(fchmod(file_.number(), 0666));
  const auto refuse = [&] {
    throw Error(Error::Kind::kTryAgain,
                fmt::format("the GPU {} is in use by another worker (process {}): two workers on "
                            "one GPU disturb each other; wait for it to end",
                            uuid,
                            holder(file_.number())));
  };
  const std::string me = std::to_string(harness.value_or(getpid()));
  if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
    // The other worker of a pair has its share, and has written whose it is.
    const bool shared = harness && flock(file_.number(), LOCK_SH | LOCK_NB) == 0;
    if (!shared || holder(file_.number()) != me) {
      refuse();
    }
    return;
  }
  if (ftruncate(file_.number(), 0) != 0 ||
      pwrite(file_.number(), me.data(), me.size(), 0) != static_cast<ssize_t>(me.size())) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write the GPU's lock '{}' ({}): free some space",
                            path.string(),
                            std::strerror(errno)));
  }
  if (harness && flock(file_.number(), LOCK_SH | LOCK_NB) != 0) {
    refuse();
  }
}

}  // namespace plumb::cuda
