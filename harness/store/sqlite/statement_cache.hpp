// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/sqlite/sqlite_statement.hpp"

namespace plumb::store {

/// Cache of all prepared statements of a connection. The connection must live longer.
class StatementCache {
 public:
  explicit StatementCache(SqliteConnection& connection) : connection_(connection) {}

  /// Returns the statement, reset and ready to be bound. Only one use of the same text at a time.
  [[nodiscard]] StatementUse use(const std::string& sql) {
    std::unique_ptr<SqliteStatement>& statement = statements_[sql];
    if (!statement) {
      statement = std::make_unique<SqliteStatement>(connection_, sql);
    }
    return StatementUse(*statement);
  }
  [[nodiscard]] SqliteConnection& connection() { return connection_; }

 private:
  SqliteConnection& connection_;
  std::unordered_map<std::string, std::unique_ptr<SqliteStatement>> statements_;
};

}  // namespace plumb::store
