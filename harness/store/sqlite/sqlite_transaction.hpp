// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/store/sqlite/sqlite_connection.hpp"

namespace plumb::store {

/// Transaction that is rolled back at the end of its scope unless committed.
class SqliteTransaction {
 public:
  enum class Kind {
    kRead,   ///< one snapshot for several statements
    kWrite,  ///< takes the write lock at once, waiting for other processes
  };
  /// Begins a transaction. Throws Error{kTryAgain} if another process keeps the lock, and
  /// Error{kEnvironment} for a write to a read-only store.
  SqliteTransaction(SqliteConnection& connection, Kind kind);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  SqliteTransaction(SqliteTransaction&&) = delete;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;

  /// Commits. Throws Error{kEnvironment} if the file was deleted or replaced, so that what was
  /// written is nowhere.
  void commit();

 private:
  SqliteConnection& connection_;
  Kind kind_;
  bool open_ = true;
};

}  // namespace plumb::store
