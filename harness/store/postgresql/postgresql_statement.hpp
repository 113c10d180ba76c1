// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Returns SQL with its parameters, which are written as `?`, replaced by `text_of(0)`,
/// `text_of(1)`, …
template <typename TextOf>
[[nodiscard]] std::string with_parameters(std::string_view sql, const TextOf& text_of) {
  std::string result;
  std::size_t parameter = 0;
  bool quoted = false;
  for (const char c : sql) {
    quoted = quoted != (c == '\'');
    if (c == '?' && !quoted) {
      result += text_of(parameter++);
    } else {
      result += c;
    }
  }
  return result;
}

/// Returns SQL with its parameters numbered, as PostgreSQL writes them.
[[nodiscard]] inline std::string numbered(std::string_view sql) {
  return with_parameters(sql, [](std::size_t i) { return '$' + std::to_string(i + 1); });
}

/// One statement prepared by a server. All rows of an answer are in memory until the reset.
class PostgresqlStatement : public Statement {
 public:
  using Statement::bind;

  /// Prepares `sql`, with parameters written as `?`. `connection` must live longer.
  PostgresqlStatement(PostgresqlConnection& connection, std::string_view sql);

  PostgresqlStatement& bind(std::int64_t value) final;
  PostgresqlStatement& bind(double value) final;
  PostgresqlStatement& bind(std::string_view text) final { return bind_bytes(text); }
  PostgresqlStatement& bind_bytes(std::string_view bytes) final;
  PostgresqlStatement& bind_null() final;
  bool step() override;
  void run() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() final;
  [[nodiscard]] double number() final;
  [[nodiscard]] std::string_view text_view() final { return blob_view(); }
  [[nodiscard]] std::string_view blob_view() final { return columns_.at(column_++); }

 protected:
  [[nodiscard]] PostgresqlConnection& connection() const { return connection_; }
  /// Returns the parameters in the text of a statement as SQL writes them.
  [[nodiscard]] std::vector<std::string> literals() const;
  /// Returns the columns of the current row, to be set: their bytes. That of a null has no data.
  [[nodiscard]] std::vector<std::string_view>& start_row();

 private:
  [[nodiscard]] bool skip_null() final;
  [[nodiscard]] unsigned next_type() const;

  PostgresqlConnection& connection_;
  std::string name_;
  std::vector<unsigned> parameter_types_;
  std::vector<unsigned> column_types_;
  std::vector<PostgresqlValue> parameters_;
  std::vector<std::string_view> columns_;  ///< of the current row
  std::size_t column_ = 0;
  PostgresqlConnection::Result result_;
  int row_ = 0;
};

}  // namespace plumb::store
