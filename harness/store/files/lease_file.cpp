// SPDX-License-Identifier: Apache-2.0
#include "harness/store/files/lease_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/file_descriptor.hpp"
#include "harness/base/hash64.hpp"

namespace plumb::store {
namespace {

/// Sets the lock of one byte to `type`, and returns the error number or 0. The lock belongs to the
/// open file, not to the process: closing the file elsewhere in the process does not drop it.
int set_lock(const FileDescriptor& file, std::int64_t byte, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return fcntl(file.number(), F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

/// Returns the byte that stands for a run. Two runs with one byte would only wait for each other.
std::int64_t byte_of(std::string_view run) {
  const std::uint64_t hash = hash64(std::as_bytes(std::span(run)));
  return static_cast<std::int64_t>(hash % std::numeric_limits<std::int64_t>::max());
}

std::string cannot(const std::filesystem::path& path, const char* what, int error) {
  return fmt::format(
      "cannot {} '{}', which says who works on a run ({}): check the folder's permissions, the "
      "disk's space, and that the store is on a local disk",
      what,
      path.string(),
      std::strerror(error));
}

}  // namespace

LeaseFile::Lock::Lock(std::shared_ptr<const FileDescriptor> file, std::int64_t byte)
    : file_(std::move(file)), byte_(byte) {}

LeaseFile::Lock::~Lock() {
  if (file_ != nullptr) {
    (void)set_lock(*file_, byte_, F_UNLCK);
  }
}

LeaseFile::LeaseFile(const std::filesystem::path& store) {
  std::error_code error;
  path_ = std::filesystem::weakly_canonical(store, error);
  path_ = (error ? store : path_).string() + "-lease";
  auto file =
      std::make_shared<FileDescriptor>(open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (file->number() < 0) {
    throw Error(Error::Kind::kEnvironment, cannot(path_, "open", errno));
  }
  file_ = std::move(file);
}

std::optional<LeaseFile::Lock> LeaseFile::try_lock(std::string_view run) const {
  const std::int64_t byte = byte_of(run);
  const int error = set_lock(*file_, byte, F_WRLCK);
  if (error == EAGAIN || error == EACCES) {
    return std::nullopt;
  }
  if (error != 0) {
    throw Error(Error::Kind::kEnvironment, cannot(path_, "lock", error));
  }
  return Lock(file_, byte);
}

}  // namespace plumb::store
