// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/store/postgresql/postgresql_statement.hpp"

namespace plumb::store {

/// Query whose rows are read while the server still makes others: `COPY (…) TO STDOUT` in its
/// binary form. From the first step to the end or the reset, its connection is for it alone. Its
/// parameters, texts and numbers, become part of the query's text.
class RowStream final : public PostgresqlStatement {
 public:
  RowStream(PostgresqlConnection& connection, const std::string& sql)
      : PostgresqlStatement(connection, sql), sql_(sql) {}

  bool step() override;
  void reset() noexcept override;

 private:
  std::string sql_;
  bool open_ = false;
  CopiedRow row_;
};

}  // namespace plumb::store
