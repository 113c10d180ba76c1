// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
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

/// Copy of a store and its log in a temporary folder, which it removes at the end of its life.
class StoreCopy {
 public:
  /// Copies the files. Throws Error{kEnvironment} if there is no room, and Error{kTryAgain} if they
  /// were written meanwhile.
  explicit StoreCopy(const std::filesystem::path& store);
  ~StoreCopy();
  StoreCopy(const StoreCopy&) = delete;
  StoreCopy& operator=(const StoreCopy&) = delete;
  StoreCopy(StoreCopy&&) = delete;
  StoreCopy& operator=(StoreCopy&&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "store.db"; }

 private:
  void copy(const std::filesystem::path& store) const;
  std::filesystem::path folder_;
};

/// Returns which transactions in the write-ahead log of a store cannot be recovered because the log
/// is damaged. Absent: none. SQLite itself says nothing: it takes the log to end before the first
/// frame that does not match its checksum. Other processes may write meanwhile. A log that cannot
/// be read has no damage that this function knows of.
[[nodiscard]] std::optional<std::string> read_log_damage(const std::filesystem::path& store);

}  // namespace plumb::store
