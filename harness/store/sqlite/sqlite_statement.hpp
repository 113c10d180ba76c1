// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"

struct sqlite3_stmt;

namespace plumb::store {

/// Owner of one prepared statement. Parameters and columns are used in order:
/// `statement.bind(run).bind(text); while (statement.step()) { use(statement.integer(), …); }`
class SqliteStatement {
 public:
  /// Prepares `sql`. `connection` must live longer.
  SqliteStatement(const SqliteConnection& connection, std::string_view sql);

  /// Binds the next parameter. Texts and blobs are not copied: keep them until the next reset.
  SqliteStatement& bind(std::int64_t value);
  SqliteStatement& bind(double value);
  SqliteStatement& bind(std::string_view text);
  SqliteStatement& bind_blob(std::string_view bytes);
  SqliteStatement& bind_null();
  SqliteStatement& bind(Timestamp time) { return bind(micros(time)); }
  SqliteStatement& bind(Seconds time) { return bind(time.count()); }
  SqliteStatement& bind_flag(bool flag) { return bind(std::int64_t{flag ? 1 : 0}); }
  SqliteStatement& bind(const char*) = delete;
  template <typename Value>
  SqliteStatement& bind(const std::optional<Value>& value) {
    return value ? bind(*value) : bind_null();
  }

  /// Advances to the next row. False: there is none, and the statement is reset for its next use.
  bool step();
  /// Runs a statement that returns no rows, and resets it.
  void run();
  /// Resets the statement, so that it can be bound and run again.
  void reset() noexcept;

  /// Returns the next column of the current row.
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] double number();
  [[nodiscard]] std::string text();
  /// Returns a view of the next column, valid until the next step.
  [[nodiscard]] std::string_view text_view();
  [[nodiscard]] std::string_view blob_view();
  [[nodiscard]] bool flag() { return integer() != 0; }
  [[nodiscard]] Seconds seconds() { return Seconds(number()); }
  [[nodiscard]] Timestamp time();
  [[nodiscard]] std::optional<std::int64_t> optional_integer();
  [[nodiscard]] std::optional<double> optional_number();
  [[nodiscard]] std::optional<Seconds> optional_seconds();
  [[nodiscard]] std::optional<Timestamp> optional_time();

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept;
  };
  static std::int64_t micros(Timestamp time) { return time.time_since_epoch().count(); }
  [[nodiscard]] bool next_is_null() const;
  void check(int code) const;

  const SqliteConnection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int parameter_ = 0;
  int column_ = 0;
};

/// Use of a cached statement, which it resets at the end of its scope. A reader that leaves early
/// then does not hold a snapshot open.
class StatementUse {
 public:
  explicit StatementUse(SqliteStatement& statement) : statement_(statement) { statement.reset(); }
  ~StatementUse() { statement_.reset(); }
  StatementUse(const StatementUse&) = delete;
  StatementUse& operator=(const StatementUse&) = delete;
  StatementUse(StatementUse&&) = delete;
  StatementUse& operator=(StatementUse&&) = delete;
  SqliteStatement* operator->() const { return &statement_; }
  SqliteStatement& operator*() const { return statement_; }

 private:
  SqliteStatement& statement_;
};

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
