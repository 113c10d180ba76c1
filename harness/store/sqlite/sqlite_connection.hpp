// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/store/files/store_copy.hpp"

struct sqlite3;

namespace plumb::store {

/// Owner of one connection to an SQLite database. For one thread at a time.
class SqliteConnection {
 public:
  /// Opens a database file, and creates it if it is absent. It is opened for reading only if
  /// `for_reading`, or if the file or its folder cannot be written. In such a folder, a file with a
  /// log that nobody has open is read from a copy. `patience` is how long a statement waits for
  /// other connections. Throws Error{kEnvironment}.
  explicit SqliteConnection(std::filesystem::path path,
                            bool for_reading = false,
                            std::chrono::milliseconds patience = std::chrono::minutes(1));

  /// Throws the Error for a `code` that SQLite just returned, unless it is OK, ROW or DONE. The
  /// text has what was done, the file, SQLite's message, and what to do. Error{kTryAgain}: busy.
  /// Error{kEnvironment}: full disk, read-only, damaged, or not a database. Else Error{kInternal}.
  void check(int code, std::string_view doing) const;
  /// Runs statements and ignores their rows.
  void execute(const std::string& sql);
  /// Throws Error{kEnvironment} if the database was opened for reading only.
  void require_writable() const;
  /// Throws Error{kEnvironment} if the path no longer leads to the file that was opened.
  void require_in_place() const;

  [[nodiscard]] bool read_only() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  /// Device and inode of a file.
  using Identity = std::pair<std::uint64_t, std::uint64_t>;
  [[nodiscard]] std::optional<Identity> identity() const;
  void open(const std::string& uri, int flags);
  void open_unwritable();

  std::filesystem::path path_;
  std::optional<Identity> opened_;
  std::unique_ptr<StoreCopy> copy_;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace plumb::store
