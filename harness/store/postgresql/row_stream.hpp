// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/tables/statement.hpp"

namespace plumb::store {

/// Query whose rows are read while the server still makes others: `COPY (…) TO STDOUT` in its
/// binary form. From the first step to the end or the reset, its connection is for it alone. Its
/// parameters, texts and numbers, become part of the query's text.
class RowStream final : public Statement {
 public:
  using Statement::bind;

  RowStream(PostgresqlConnection& connection, std::string sql);

  RowStream& bind(std::int64_t value) override;
  RowStream& bind(double value) override;
  RowStream& bind(std::string_view text) override { return bind_bytes(text); }
  RowStream& bind_bytes(std::string_view bytes) override;
  RowStream& bind_null() override;
  bool step() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() override;
  [[nodiscard]] double number() override;
  [[nodiscard]] std::string_view text_view() override { return blob_view(); }
  [[nodiscard]] std::string_view blob_view() override;

 private:
  [[nodiscard]] bool skip_null() override;
  /// Returns and skips the next bytes of the row.
  std::string_view take(std::size_t size);
  /// Returns the bytes of the next column, which is not null.
  std::string_view next();

  PostgresqlConnection& connection_;
  std::string sql_;
  std::vector<unsigned> types_;          ///< of the columns
  std::vector<std::string> parameters_;  ///< as literals
  bool open_ = false;
  CopiedRow row_;
  std::string_view rest_;  ///< of the row
  std::size_t column_ = 0;
};

}  // namespace plumb::store
