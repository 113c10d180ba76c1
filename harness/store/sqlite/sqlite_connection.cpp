// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/sqlite_connection.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

/// Lines that describe each table's columns or each index's columns, by name.
using Schema = std::map<std::string, std::string>;

struct Close {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};

constexpr const char* kDescribe =
    "select m.name, m.type || ' of ' || m.tbl_name || ': ' || c.name || ' ' || c.type || ' ' || "
    "c.\"notnull\" || c.pk from sqlite_master m join pragma_table_info(m.name) c "
    "where m.type = 'table' and m.name not like 'sqlite_%' "
    "union all select m.name, m.type || ' of ' || m.tbl_name || ': ' || coalesce(i.name, '') "
    "from sqlite_master m join pragma_index_info(m.name) i "
    "where m.type = 'index' and m.name not like 'sqlite_%'";

int collect(void* schema, int columns, char** values, char** /*names*/) noexcept {
  try {
    if (columns == 2 && values[0] != nullptr && values[1] != nullptr) {
      (*static_cast<Schema*>(schema))[values[0]].append(values[1]).append("\n");
    }
  } catch (...) {
    return 1;
  }
  return 0;
}

/// Returns absent if the schema cannot be read.
std::optional<Schema> describe(sqlite3* handle) {
  Schema schema;
  if (sqlite3_exec(handle, kDescribe, &collect, &schema, nullptr) != SQLITE_OK) {
    return std::nullopt;
  }
  return schema;
}

int take_number(void* number, int columns, char** values, char** /*names*/) noexcept {
  if (columns == 1 && values[0] != nullptr) {
    *static_cast<int*>(number) = std::atoi(values[0]);
  }
  return 0;
}

std::optional<Schema> expected(int version) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, Close> memory(raw);
  std::string sql = "create table migrations (number integer primary key, name text not null);";
  for (const Connection::Migration& migration : migrations()) {
    if (migration.number <= version) {
      sql += migration.sql;
    }
  }
  if (code != SQLITE_OK || sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::nullopt;
  }
  return describe(raw);
}

std::string compare(sqlite3* store) {
  int version = 0;
  if (sqlite3_exec(store,
                   "select coalesce(max(number), 0) from migrations",
                   &take_number,
                   &version,
                   nullptr) != SQLITE_OK) {
    return "its list of migrations cannot be read";
  }
  const std::optional<Schema> found = describe(store);
  if (!found) {
    return "its schema cannot be read";
  }
  const std::optional<Schema> wanted = expected(version);
  if (!wanted) {
    return {};  // Nothing to compare with.
  }
  for (const auto& [name, columns] : *wanted) {
    const auto held = found->find(name);
    if (held == found->end() || held->second != columns) {
      return fmt::format("'{}' does not have the columns of schema version {}", name, version);
    }
  }
  return {};
}

}  // namespace

std::string schema_fault(sqlite3* store) noexcept {
  try {
    return compare(store);
  } catch (...) {
    return {};
  }
}

namespace {

struct Advice {
  Error::Kind kind;
  std::string text;
  bool damaged = false;
};

Advice advice_for(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Error::Kind::kTryAgain,
              "another process keeps the store locked for too long: wait for it, or end it"};
    case SQLITE_FULL:
      return {Error::Kind::kEnvironment, "free some space and try again; earlier results are safe"};
    case SQLITE_IOERR:
      return {Error::Kind::kEnvironment,
              "check free space, quota and the disk; earlier results are safe"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {Error::Kind::kEnvironment,
              "make the file and its folder writable, or name another with --store"};
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return {Error::Kind::kEnvironment, "check that the folder exists and may be written"};
    case SQLITE_NOTADB:
      return {
          Error::Kind::kEnvironment,
          "this file is not a store, or its first bytes are damaged: name another with --store, "
          "or move it and the files beside it that end in -wal and -shm away, then copy a "
          "backup to its place"};
    // SQLite meets these where a page or a reference is not what was written.
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
      return {Error::Kind::kEnvironment, "the store is damaged", true};
    case SQLITE_NOMEM:
      return {Error::Kind::kEnvironment,
              "out of memory: close other programs, or verify the store"};
    default:
      return {Error::Kind::kInternal, "please report this bug"};
  }
}

// SQLite interprets '?', '#' and '%' in a URI, and a path may contain any of them.
std::string uri_of(const std::filesystem::path& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri.append(query);
}

std::filesystem::path beside(std::filesystem::path store, const char* ending) {
  store += ending;
  return store;
}

}  // namespace

void SqliteConnection::Close::operator()(sqlite3* handle) const noexcept {
  sqlite3_close_v2(handle);
}

SqliteConnection::SqliteConnection(std::filesystem::path path,
                                   bool for_reading,
                                   std::chrono::milliseconds patience)
    : path_(std::move(path)) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path_, ignored);
  const bool folder_writable =
      ::access(path_.has_parent_path() ? path_.parent_path().c_str() : ".", W_OK) == 0;
  if (exists && !folder_writable && !std::filesystem::exists(beside(path_, "-shm"), ignored)) {
    open_unwritable();
  } else {
    open(uri_of(path_, ""),
         for_reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  }
  opened_ = identity();
  check(sqlite3_busy_timeout(handle(), static_cast<int>(patience.count())), "set a time-out for");
}

// SQLite cannot make its shared-memory file here. Other processes without that right cannot write
// either, so a file without a log may be read as unchanging.
void SqliteConnection::open_unwritable() {
  std::error_code ignored;
  const std::uintmax_t log = std::filesystem::file_size(beside(path_, "-wal"), ignored);
  if (ignored || log == 0) {
    open(uri_of(path_, "?immutable=1"), SQLITE_OPEN_READONLY);
    return;
  }
  copy_ = std::make_unique<StoreCopy>(path_);
  open(uri_of(copy_->path(), ""), SQLITE_OPEN_READONLY);
}

std::optional<SqliteConnection::Identity> SqliteConnection::identity() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return Identity(status.st_dev, status.st_ino);
}

void SqliteConnection::require_in_place() const {
  if (opened_ && identity() != opened_) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the store '{}' was deleted, moved or replaced while it was in use, so "
                            "its last results are lost: leave the file in place and run again",
                            path_.string()));
  }
}

void SqliteConnection::open(const std::string& uri, int flags) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(uri.c_str(),
                      &raw,
                      flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                      nullptr);
  handle_.reset(raw);
  check(code, "open");
}

void SqliteConnection::check(int code, std::string_view doing) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) {
    return;
  }
  const std::string words = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  Advice advice = advice_for(code);
  // A statement that is good for the schema fails only where the schema is another.
  if (advice.kind == Error::Kind::kInternal && handle_) {
    if (const std::string fault = schema_fault(handle_.get()); !fault.empty()) {
      advice = {Error::Kind::kEnvironment, "the store is damaged: " + fault, true};
    }
  }
  if (advice.damaged) {
    advice.text.append("; ").append(damage_advice(kRestoreFile));
  }
  throw Error(advice.kind,
              fmt::format("cannot {} the store '{}': {} (SQLite code {}); {}",
                          doing,
                          path_.string(),
                          words,
                          code,
                          advice.text));
}

void SqliteConnection::execute(const std::string& sql) {
  check(sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr), "run a statement in");
}

bool SqliteConnection::read_only() const {
  return sqlite3_db_readonly(handle(), "main") == 1;
}

void SqliteConnection::begin(Connection::TransactionKind kind) {
  const bool writes = kind == Connection::TransactionKind::kWrite;
  if (writes) {
    if (read_only()) {
      check(SQLITE_READONLY, "write to");
    }
    require_in_place();
  }
  check(sqlite3_exec(handle(), writes ? "begin immediate" : "begin", nullptr, nullptr, nullptr),
        writes ? "start writing to" : "start reading");
}

void SqliteConnection::commit(Connection::TransactionKind kind) {
  check(sqlite3_exec(handle(), "commit", nullptr, nullptr, nullptr), "commit to");
  if (kind == Connection::TransactionKind::kWrite) {
    require_in_place();
  }
}

void SqliteConnection::rollback() noexcept {
  // A full disk may already have made SQLite roll back by itself.
  if (sqlite3_get_autocommit(handle()) == 0) {
    sqlite3_exec(handle(), "rollback", nullptr, nullptr, nullptr);
  }
}

void SqliteConnection::Prepared::Finalize::operator()(sqlite3_stmt* handle) const noexcept {
  sqlite3_finalize(handle);
}

SqliteConnection::Prepared::Prepared(const SqliteConnection& connection, std::string_view sql)
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

void SqliteConnection::Prepared::check(int code) const {
  if (code != SQLITE_OK) {
    connection_->check(code, "use a statement in");
  }
}

SqliteConnection::Prepared& SqliteConnection::Prepared::bind(std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), ++parameter_, value));
  return *this;
}

SqliteConnection::Prepared& SqliteConnection::Prepared::bind(double value) {
  check(sqlite3_bind_double(handle_.get(), ++parameter_, value));
  return *this;
}

SqliteConnection::Prepared& SqliteConnection::Prepared::bind(std::string_view text) {
  // A null pointer would bind NULL, not the empty text.
  const char* const data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(
      handle_.get(), ++parameter_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

SqliteConnection::Prepared& SqliteConnection::Prepared::bind_bytes(std::string_view bytes) {
  check(
      sqlite3_bind_blob64(handle_.get(), ++parameter_, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

SqliteConnection::Prepared& SqliteConnection::Prepared::bind_null() {
  check(sqlite3_bind_null(handle_.get(), ++parameter_));
  return *this;
}

bool SqliteConnection::Prepared::step() {
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

void SqliteConnection::Prepared::reset() noexcept {
  sqlite3_reset(handle_.get());
  parameter_ = 0;
  column_ = 0;
}

bool SqliteConnection::Prepared::skip_null() {
  const bool null = sqlite3_column_type(handle_.get(), column_) == SQLITE_NULL;
  column_ += null ? 1 : 0;
  return null;
}

std::int64_t SqliteConnection::Prepared::integer() {
  return sqlite3_column_int64(handle_.get(), column_++);
}

double SqliteConnection::Prepared::number() {
  return sqlite3_column_double(handle_.get(), column_++);
}

std::string_view SqliteConnection::Prepared::text_view() {
  const auto* const data = static_cast<const char*>(
      static_cast<const void*>(sqlite3_column_text(handle_.get(), column_)));
  const int size = sqlite3_column_bytes(handle_.get(), column_++);
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<std::size_t>(size));
}

std::string_view SqliteConnection::Prepared::blob_view() {
  const auto* const data = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column_));
  const int size = sqlite3_column_bytes(handle_.get(), column_++);
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<std::size_t>(size));
}

}  // namespace plumb::store
