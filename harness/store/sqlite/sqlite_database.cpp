// SPDX-License-Identifier: Apache-2.0
// What a store needs of an SQLite database beyond a connection.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/store/files/store_files.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {
namespace {

/// Lock of a run in the file beside the store.
class FileLock final : public Connection::Lock {
 public:
  explicit FileLock(LeaseFile::Lock lock) : lock_(std::move(lock)) {}

 private:
  LeaseFile::Lock lock_;
};

using Faults = std::vector<std::string>;

void check_pages(const SqliteConnection& connection, Faults& faults) {
  SqliteConnection::Prepared statement(connection, "pragma integrity_check");
  while (statement.step()) {
    const std::string line = statement.text();
    if (line != "ok") {
      faults.push_back("file: " + line);
    }
  }
}

void check_schema(const SqliteConnection& connection, Faults& faults) {
  if (const std::string found = schema_fault(connection.handle()); !found.empty()) {
    faults.push_back("schema: " + found);
  }
}

void check_log(const SqliteConnection& connection, Faults& faults) {
  if (const auto found = read_log_damage(connection.name())) {
    faults.push_back("log: " + *found);
  }
}

void check_references(const SqliteConnection& connection, Faults& faults) {
  SqliteConnection::Prepared statement(connection, "pragma foreign_key_check");
  while (statement.step()) {
    const std::string table = statement.text();
    const std::optional<std::int64_t> row = statement.optional_integer();
    faults.push_back(fmt::format("{} row {}: refers to a row of {} that does not exist",
                                 table,
                                 row.value_or(0),
                                 statement.text_view()));
  }
}

}  // namespace

bool SqliteConnection::is_in_wal_mode(const char* sql) const {
  SqliteConnection::Prepared statement(*this, sql);
  return statement.step() && statement.text_view() == "wal";
}

// SQLite does not wait for other connections when the journal mode changes, so this waits.
void SqliteConnection::enter_wal_mode() const {
  for (int attempt = 0; !is_in_wal_mode("pragma journal_mode"); ++attempt) {
    try {
      if (is_in_wal_mode("pragma journal_mode = wal")) {
        return;
      }
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::kTryAgain || attempt >= 1000) {
        throw;
      }
    }
    if (attempt >= 1000) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format("the store '{}' cannot be put into WAL mode: its file system may lack "
                      "shared memory; name a store on a local disk with --store",
                      name()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void SqliteConnection::set_up() {
  // The file may come from elsewhere, so nothing in it is trusted.
  execute("pragma trusted_schema = off; pragma cell_size_check = on");
  execute(
      "pragma synchronous = normal; pragma cache_size = -65536; "
      "pragma wal_autocheckpoint = 16384; pragma temp_store = memory");
  if (!read_only()) {
    // Refuses another program's file before it is touched.
    (void)with_advice(kRestoreFile, [&] { return read_schema_version(*this); });
    enter_wal_mode();
  }
}

std::int64_t SqliteConnection::revision() {
  SqliteConnection::Prepared statement(*this, "pragma data_version");
  PLUMB_CHECK(statement.step());
  return statement.integer();
}

Bytes SqliteConnection::size() {
  Bytes total;
  for (const char* const end : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path_.string() + end, error);
    total += Bytes{error ? 0 : static_cast<std::int64_t>(size)};
  }
  return total;
}

std::unique_ptr<Statement> SqliteConnection::prepare(const std::string& sql) {
  return std::make_unique<SqliteConnection::Prepared>(*this, sql);
}

std::unique_ptr<Statement> SqliteConnection::prepare_insert(const std::string& table,
                                                            std::string_view columns,
                                                            std::size_t count) {
  std::string row = "(?";
  for (const char c : columns) {
    row += c == ',' ? ", ?" : "";
  }
  row += ')';
  std::string sql = fmt::format("insert into {} ({}) values {}", table, columns, row);
  for (std::size_t i = 1; i < count; ++i) {
    sql.append(", ").append(row);
  }
  return prepare(sql);
}

std::unique_ptr<Connection::Lock> SqliteConnection::try_lock(const results::RunId& run) {
  if (!lease_file_) {
    lease_file_.emplace(path_);
  }
  std::optional<LeaseFile::Lock> lock = lease_file_->try_lock(run);
  return lock ? std::make_unique<FileLock>(std::move(*lock)) : nullptr;
}

Connection::Contents SqliteConnection::contents() {
  SqliteConnection::Prepared statement(
      *this,
      "select count(*), coalesce(sum(type = 'table' and name = 'migrations'), 0) from "
      "sqlite_master");
  PLUMB_CHECK(statement.step());
  Contents contents;
  contents.tables = statement.integer();
  contents.has_history = statement.flag();
  return contents;
}

std::string SqliteConnection::history_sql() const {
  return "create table migrations (number integer primary key, name text not null)";
}

std::vector<std::string> SqliteConnection::structural_faults() {
  Faults faults;
  for (const auto check : {&check_pages, &check_schema, &check_log, &check_references}) {
    try {
      check(*this, faults);
    } catch (const Error& error) {
      faults.push_back(without_advice(error.what()));  // One must not hide the others.
    }
  }
  return faults;
}

std::string_view SqliteConnection::restore_advice() const {
  return kRestoreFile;
}

void SqliteConnection::shrink() {
  execute("vacuum; pragma wal_checkpoint(truncate)");
}

}  // namespace plumb::store
