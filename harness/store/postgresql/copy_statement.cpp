// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/copy_statement.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include "harness/base/error.hpp"
#include "harness/store/postgresql/copy_format.hpp"

namespace plumb::store {
namespace {

void append_big_endian(std::string& out, std::uint32_t value, unsigned bytes) {
  while (bytes-- > 0) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * bytes)));
  }
}

}  // namespace

CopyStatement::CopyStatement(PostgresqlConnection& connection,
                             const std::string& table,
                             std::string_view columns)
    : connection_(connection),
      sql_(fmt::format("copy {} ({}) from stdin (format binary)", table, columns)) {
  const PostgresqlResult description =
      connection.describe(connection.new_statement_name(),
                          fmt::format("select {} from {} where false", columns, table));
  for (int i = 0; i < PQnfields(description.get()); ++i) {
    types_.push_back(PQftype(description.get(), i));
  }
}

CopyStatement& CopyStatement::put(const PostgresqlValue& value) {
  if (column_ == 0) {
    append_big_endian(bytes_, static_cast<std::uint32_t>(types_.size()), 2);
  }
  if (value.is_null()) {
    append_big_endian(bytes_, 0xFFFFFFFFU, 4);
  } else {
    append_big_endian(bytes_, static_cast<std::uint32_t>(value.bytes().size()), 4);
    bytes_ += value.bytes();
  }
  column_ = (column_ + 1) % types_.size();
  return *this;
}

CopyStatement& CopyStatement::bind(std::int64_t value) {
  return put(PostgresqlValue(next_type(), value));
}

CopyStatement& CopyStatement::bind(double value) {
  return put(PostgresqlValue(next_type(), value));
}

CopyStatement& CopyStatement::bind_bytes(std::string_view bytes) {
  return put(PostgresqlValue(bytes));
}

CopyStatement& CopyStatement::bind_null() {
  return put(PostgresqlValue());
}

bool CopyStatement::step() {
  PLUMB_CHECK(column_ == 0);
  bytes_ += kCopyEnd;
  connection_.copy(sql_, bytes_);
  reset();
  return false;
}

void CopyStatement::reset() noexcept {
  bytes_ = kCopyHeader;
  column_ = 0;
}

}  // namespace plumb::store
