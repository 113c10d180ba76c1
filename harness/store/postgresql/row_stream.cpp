// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/row_stream.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <utility>

#include "harness/base/error.hpp"
#include "harness/store/postgresql/copy_format.hpp"
#include "harness/store/postgresql/query_text.hpp"

namespace plumb::store {

RowStream::RowStream(PostgresqlConnection& connection, std::string sql)
    : connection_(connection), sql_(std::move(sql)) {
  const PostgresqlResult description =
      connection.describe(connection.new_statement_name(), numbered(sql_));
  for (int i = 0; i < PQnfields(description.get()); ++i) {
    types_.push_back(PQftype(description.get(), i));
  }
}

RowStream& RowStream::bind(std::int64_t value) {
  parameters_.push_back(fmt::format("'{}'", value));
  return *this;
}

RowStream& RowStream::bind(double value) {
  parameters_.push_back(fmt::format("'{}'", value));
  return *this;
}

RowStream& RowStream::bind_bytes(std::string_view bytes) {
  parameters_.push_back(connection_.literal(bytes));
  return *this;
}

RowStream& RowStream::bind_null() {
  parameters_.emplace_back("null");
  return *this;
}

bool RowStream::step() {
  const bool first = !std::exchange(open_, true);
  if (first) {
    connection_.start_rows(with_parameters(sql_, [&](std::size_t i) { return parameters_.at(i); }));
  }
  row_ = connection_.next_row();
  rest_ = {row_.bytes.get(), row_.size};
  column_ = 0;
  if (first) {
    (void)take(kCopyHeader.size());
  }
  if (take(kCopyEnd.size()) == kCopyEnd) {  // else the number of columns
    reset();
    return false;
  }
  return true;
}

void RowStream::reset() noexcept {
  if (std::exchange(open_, false)) {
    connection_.end_rows();
  }
  parameters_.clear();
  row_ = {};
}

std::string_view RowStream::take(std::size_t size) {
  PLUMB_CHECK(size <= rest_.size());
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

std::string_view RowStream::next() {
  ++column_;
  return take(read_bytes<std::uint32_t>(take(kLengthBytes)));
}

bool RowStream::skip_null() {
  const bool null = rest_.starts_with(kNullLength);
  if (null) {
    ++column_;
    (void)take(kLengthBytes);
  }
  return null;
}

std::int64_t RowStream::integer() {
  const unsigned type = types_.at(column_);
  return skip_null() ? 0 : read_integer(type, next());
}

double RowStream::number() {
  const unsigned type = types_.at(column_);
  return skip_null() ? 0.0 : read_number(type, next());
}

std::string_view RowStream::blob_view() {
  return skip_null() ? std::string_view() : next();
}

}  // namespace plumb::store
