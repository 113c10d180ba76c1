// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/statement.hpp"

namespace plumb::store {

/// Use of a cached statement, which it resets at the end of its scope. A reader that leaves early
/// then does not hold a snapshot open.
class StatementUse {
 public:
  explicit StatementUse(Statement& statement) : statement_(statement) { statement.reset(); }
  ~StatementUse() { statement_.reset(); }
  StatementUse(const StatementUse&) = delete;
  StatementUse& operator=(const StatementUse&) = delete;
  StatementUse(StatementUse&&) = delete;
  StatementUse& operator=(StatementUse&&) = delete;
  Statement* operator->() const { return &statement_; }
  Statement& operator*() const { return statement_; }

 private:
  Statement& statement_;
};

/// Cache of all prepared statements of a connection. The connection must live longer.
class StatementCache {
 public:
  explicit StatementCache(Connection& connection) : connection_(connection) {}

  /// Returns the statement, reset and ready to be bound. Only one use of the same text at a time.
  [[nodiscard]] StatementUse use(const std::string& sql) {
    std::unique_ptr<Statement>& statement = statements_[sql];
    if (!statement) {
      statement = connection_.prepare(sql);
    }
    return StatementUse(*statement);
  }
  /// Returns a query of many rows, as Connection::prepare_stream() makes it.
  [[nodiscard]] StatementUse stream(const std::string& sql) {
    std::unique_ptr<Statement>& statement = streams_[sql];
    if (!statement) {
      statement = connection_.prepare_stream(sql);
    }
    return StatementUse(*statement);
  }
  /// Returns the insertion of `count` rows, as Connection::prepare_insert() makes it.
  [[nodiscard]] StatementUse insert(const std::string& table,
                                    std::string_view columns,
                                    std::size_t count) {
    std::unique_ptr<Statement>& statement = statements_[table + ' ' + std::to_string(count)];
    if (!statement) {
      statement = connection_.prepare_insert(table, columns, count);
    }
    return StatementUse(*statement);
  }
  [[nodiscard]] Connection& connection() { return connection_; }

 private:
  Connection& connection_;
  std::unordered_map<std::string, std::unique_ptr<Statement>> statements_;
  std::unordered_map<std::string, std::unique_ptr<Statement>> streams_;
};

}  // namespace plumb::store
