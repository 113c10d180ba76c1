// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/sqlite_statement.hpp"

#include <sqlite3.h>

namespace plumb::store {

void SqliteStatement::Finalize::operator()(sqlite3_stmt* handle) const noexcept {
  sqlite3_finalize(handle);
}

SqliteStatement::SqliteStatement(const SqliteConnection& connection, std::string_view sql)
    : connection_(&connection) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(connection.handle(),
                                      sql.data(),
                                      static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT,
                                      &raw,
                                      nullptr);
  handle_.reset(raw);
  connection.check(code, "prepare a statement in");
}

void SqliteStatement::check(int code) const {
  if (code != SQLITE_OK) {
    connection_->check(code, "use a statement in");
  }
}

SqliteStatement& SqliteStatement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), ++parameter_, value));
  return *this;
}

SqliteStatement& SqliteStatement::bind(double value) {
  check(sqlite3_bind_double(handle_.get(), ++parameter_, value));
  return *this;
}

SqliteStatement& SqliteStatement::bind(std::string_view text) {
  // A null pointer would bind NULL, not the empty text.
  const char* const data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(
      handle_.get(), ++parameter_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

SqliteStatement& SqliteStatement::bind_bytes(std::string_view bytes) {
  check(
      sqlite3_bind_blob64(handle_.get(), ++parameter_, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

SqliteStatement& SqliteStatement::bind_null() {
  check(sqlite3_bind_null(handle_.get(), ++parameter_));
  return *this;
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(handle_.get());
  column_ = 0;
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    // The message belongs to the connection. Take it before the reset clears it.
    try {
      connection_->check(code, "read or write");
    } catch (...) {
      reset();
      throw;
    }
  }
  reset();
  return false;
}

void SqliteStatement::reset() noexcept {
  sqlite3_reset(handle_.get());
  parameter_ = 0;
  column_ = 0;
}

bool SqliteStatement::skip_null() {
  const bool null = sqlite3_column_type(handle_.get(), column_) == SQLITE_NULL;
  column_ += null ? 1 : 0;
  return null;
}

std::int64_t SqliteStatement::integer() {
  return sqlite3_column_int64(handle_.get(), column_++);
}

double SqliteStatement::number() {
  return sqlite3_column_double(handle_.get(), column_++);
}

std::string_view SqliteStatement::text_view() {
  const auto* const data = static_cast<const char*>(
      static_cast<const void*>(sqlite3_column_text(handle_.get(), column_)));
  const int size = sqlite3_column_bytes(handle_.get(), column_++);
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<std::size_t>(size));
}

std::string_view SqliteStatement::blob_view() {
  const auto* const data = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column_));
  const int size = sqlite3_column_bytes(handle_.get(), column_++);
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<std::size_t>(size));
}

}  // namespace plumb::store
