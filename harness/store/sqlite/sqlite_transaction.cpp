// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/sqlite_transaction.hpp"

#include <sqlite3.h>

namespace plumb::store {

SqliteTransaction::SqliteTransaction(SqliteConnection& connection, Kind kind)
    : connection_(connection), kind_(kind) {
  if (kind == Kind::kWrite) {
    connection.require_writable();
    connection.require_in_place();
  }
  const char* const sql = kind == Kind::kWrite ? "begin immediate" : "begin";
  connection.check(sqlite3_exec(connection.handle(), sql, nullptr, nullptr, nullptr),
                   kind == Kind::kWrite ? "start writing to" : "start reading");
}

SqliteTransaction::~SqliteTransaction() {
  // A full disk may already have made SQLite roll back by itself.
  if (open_ && sqlite3_get_autocommit(connection_.handle()) == 0) {
    sqlite3_exec(connection_.handle(), "rollback", nullptr, nullptr, nullptr);
  }
}

void SqliteTransaction::commit() {
  connection_.check(sqlite3_exec(connection_.handle(), "commit", nullptr, nullptr, nullptr),
                    "commit to");
  open_ = false;
  if (kind_ == Kind::kWrite) {
    connection_.require_in_place();
  }
}

}  // namespace plumb::store
