// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/tables/statement.hpp"

namespace plumb::store {

/// One statement prepared by a server. All rows of an answer are in memory until the reset.
class PostgresqlStatement final : public Statement {
 public:
  using Statement::bind;

  /// Prepares `sql`, with parameters written as `?`. `connection` must live longer.
  PostgresqlStatement(PostgresqlConnection& connection, std::string_view sql);

  PostgresqlStatement& bind(std::int64_t value) override;
  PostgresqlStatement& bind(double value) override;
  PostgresqlStatement& bind(std::string_view text) override { return bind_bytes(text); }
  PostgresqlStatement& bind_bytes(std::string_view bytes) override;
  PostgresqlStatement& bind_null() override;
  bool step() override;
  void run() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() override;
  [[nodiscard]] double number() override;
  [[nodiscard]] std::string_view text_view() override { return blob_view(); }
  [[nodiscard]] std::string_view blob_view() override;

 private:
  [[nodiscard]] bool skip_null() override;
  [[nodiscard]] unsigned next_type() const;
  /// Returns the bytes of the next column.
  std::string_view next();

  PostgresqlConnection& connection_;
  std::string name_;
  std::vector<unsigned> types_;  ///< of the parameters
  std::vector<PostgresqlValue> parameters_;
  PostgresqlResult result_;
  int row_ = 0;
  int column_ = 0;
};

}  // namespace plumb::store
