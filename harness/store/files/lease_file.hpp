// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace plumb {
class FileDescriptor;
}

namespace plumb::store {

/// File beside a store whose locks say which runs live processes work on.
///
/// The kernel drops a lock when its process dies, however it dies. So no clock judges whether a
/// process lives. The file is empty, and nothing is lost with it: a lease has a number, too.
class LeaseFile {
 public:
  /// Lock of one run. It ends with this object or with the process.
  class Lock {
   public:
    Lock(Lock&&) noexcept = default;
    Lock& operator=(Lock&&) = delete;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();

   private:
    friend class LeaseFile;
    Lock(std::shared_ptr<const FileDescriptor> file, std::int64_t byte);
    std::shared_ptr<const FileDescriptor> file_;
    std::int64_t byte_;
  };

  /// Opens the file `STORE-lease`, and makes it if it is absent. Throws Error{kEnvironment} if it
  /// cannot be opened.
  explicit LeaseFile(const std::filesystem::path& store);

  /// Locks a run. Returns nothing if another process, or another LeaseFile, holds it. Throws
  /// Error{kEnvironment} if the file system has no locks.
  [[nodiscard]] std::optional<Lock> try_lock(std::string_view run) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const FileDescriptor> file_;
};

}  // namespace plumb::store
