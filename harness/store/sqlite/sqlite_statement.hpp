// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/tables/statement.hpp"

struct sqlite3_stmt;

namespace plumb::store {

/// Owner of one prepared statement of SQLite.
class SqliteStatement final : public Statement {
 public:
  using Statement::bind;

  /// Prepares `sql`. `connection` must live longer.
  SqliteStatement(const SqliteConnection& connection, std::string_view sql);

  SqliteStatement& bind(std::int64_t value) override;
  SqliteStatement& bind(double value) override;
  SqliteStatement& bind(std::string_view text) override;
  SqliteStatement& bind_bytes(std::string_view bytes) override;
  SqliteStatement& bind_null() override;
  bool step() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() override;
  [[nodiscard]] double number() override;
  [[nodiscard]] std::string_view text_view() override;
  [[nodiscard]] std::string_view blob_view() override;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept;
  };
  [[nodiscard]] bool skip_null() override;
  void check(int code) const;

  const SqliteConnection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int parameter_ = 0;
  int column_ = 0;
};

}  // namespace plumb::store
