// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/tables/statement.hpp"

namespace plumb::store {

/// Insertion of rows by COPY in its binary form. Values are bound row by row; it has no columns.
class CopyStatement final : public Statement {
 public:
  using Statement::bind;

  CopyStatement(PostgresqlConnection& connection,
                const std::string& table,
                std::string_view columns);

  CopyStatement& bind(std::int64_t value) override;
  CopyStatement& bind(double value) override;
  CopyStatement& bind(std::string_view text) override { return bind_bytes(text); }
  CopyStatement& bind_bytes(std::string_view bytes) override;
  CopyStatement& bind_null() override;
  /// Sends the rows. There is no row to step to.
  bool step() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() override { return 0; }
  [[nodiscard]] double number() override { return 0.0; }
  [[nodiscard]] std::string_view text_view() override { return {}; }
  [[nodiscard]] std::string_view blob_view() override { return {}; }

 private:
  [[nodiscard]] bool skip_null() override { return true; }
  [[nodiscard]] unsigned next_type() const { return types_[column_]; }
  CopyStatement& put(const PostgresqlValue& value);

  PostgresqlConnection& connection_;
  std::string sql_;
  std::vector<unsigned> types_;  ///< of the columns
  std::string bytes_;
  std::size_t column_ = 0;
};

}  // namespace plumb::store
