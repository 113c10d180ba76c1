// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/postgresql_statement.hpp"

#include <libpq-fe.h>

#include "harness/base/error.hpp"

namespace plumb::store {

PostgresqlStatement::PostgresqlStatement(PostgresqlConnection& connection, std::string_view sql)
    : connection_(connection), name_(connection.new_statement_name()) {
  const PostgresqlConnection::Result description = connection.describe(name_, numbered(sql));
  for (int i = 0; i < PQnparams(description.get()); ++i) {
    parameter_types_.push_back(PQparamtype(description.get(), i));
  }
  for (int i = 0; i < PQnfields(description.get()); ++i) {
    column_types_.push_back(PQftype(description.get(), i));
  }
  columns_.resize(column_types_.size());
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
  PLUMB_CHECK(parameters_.size() < parameter_types_.size());
  return parameter_types_[parameters_.size()];
}

std::vector<std::string> PostgresqlStatement::literals() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const PostgresqlValue& value = parameters_[i];
    if (value.is_null()) {
      texts.emplace_back("null");
    } else if (value.is_number()) {
      texts.push_back('\'' + number_text(parameter_types_.at(i), value.bytes()) + '\'');
    } else {
      texts.push_back(connection_.literal(value.bytes()));
    }
  }
  return texts;
}

bool PostgresqlStatement::step() {
  if (!result_) {
    row_ = -1;
    result_ = connection_.run(name_, parameters_);
  }
  const pg_result* const result = result_.get();
  if (++row_ == PQntuples(result)) {
    reset();
    return false;
  }
  std::vector<std::string_view>& columns = start_row();
  for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
    columns[static_cast<std::size_t>(i)] =
        PQgetisnull(result, row_, i) != 0
            ? std::string_view()
            : std::string_view(PQgetvalue(result, row_, i),
                               static_cast<std::size_t>(PQgetlength(result, row_, i)));
  }
  return true;
}

void PostgresqlStatement::run() {
  connection_.queue(name_, parameters_);
  reset();
}

void PostgresqlStatement::reset() noexcept {
  parameters_.clear();
  result_.reset();
}

std::vector<std::string_view>& PostgresqlStatement::start_row() {
  column_ = 0;
  return columns_;
}

bool PostgresqlStatement::skip_null() {
  const bool null = columns_.at(column_).data() == nullptr;
  column_ += null ? 1 : 0;
  return null;
}

std::int64_t PostgresqlStatement::integer() {
  const std::size_t column = column_;
  return skip_null() ? 0 : read_integer(column_types_[column], blob_view());
}

double PostgresqlStatement::number() {
  const std::size_t column = column_;
  return skip_null() ? 0.0 : read_number(column_types_[column], blob_view());
}

}  // namespace plumb::store
