// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/postgresql_statement.hpp"

#include <libpq-fe.h>

#include "harness/base/error.hpp"
#include "harness/store/postgresql/query_text.hpp"

namespace plumb::store {
PostgresqlStatement::PostgresqlStatement(PostgresqlConnection& connection, std::string_view sql)
    : connection_(connection), name_(connection.new_statement_name()) {
  const PostgresqlResult description = connection.describe(name_, numbered(sql));
  for (int i = 0; i < PQnparams(description.get()); ++i) {
    types_.push_back(PQparamtype(description.get(), i));
  }
}

PostgresqlStatement& PostgresqlStatement::bind(std::int64_t value) {
  parameters_.emplace_back(next_type(), value);
  return *this;
}

PostgresqlStatement& PostgresqlStatement::bind(double value) {
  parameters_.emplace_back(next_type(), value);
  return *this;
}

PostgresqlStatement& PostgresqlStatement::bind_bytes(std::string_view bytes) {
  parameters_.emplace_back(bytes);
  return *this;
}

PostgresqlStatement& PostgresqlStatement::bind_null() {
  parameters_.emplace_back();
  return *this;
}

unsigned PostgresqlStatement::next_type() const {
  PLUMB_CHECK(parameters_.size() < types_.size());
  return types_[parameters_.size()];
}

bool PostgresqlStatement::step() {
  column_ = 0;
  if (!result_) {
    row_ = -1;
    result_ = connection_.run(name_, parameters_);
  }
  if (++row_ < PQntuples(result_.get())) {
    return true;
  }
  reset();
  return false;
}

void PostgresqlStatement::run() {
  connection_.queue(name_, parameters_);
  reset();
}

void PostgresqlStatement::reset() noexcept {
  parameters_.clear();
  result_.reset();
  column_ = 0;
}

std::string_view PostgresqlStatement::next() {
  const pg_result* const result = result_.get();
  const int column = column_++;
  return {PQgetvalue(result, row_, column),
          static_cast<std::size_t>(PQgetlength(result, row_, column))};
}

bool PostgresqlStatement::skip_null() {
  const bool null = PQgetisnull(result_.get(), row_, column_) != 0;
  column_ += null ? 1 : 0;
  return null;
}

std::int64_t PostgresqlStatement::integer() {
  const unsigned type = PQftype(result_.get(), column_);
  return skip_null() ? 0 : read_integer(type, next());
}

double PostgresqlStatement::number() {
  const unsigned type = PQftype(result_.get(), column_);
  return skip_null() ? 0.0 : read_number(type, next());
}

std::string_view PostgresqlStatement::blob_view() {
  return skip_null() ? std::string_view() : next();
}

}  // namespace plumb::store
