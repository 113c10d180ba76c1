// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/schema.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"
#include "harness/store/migration.hpp"
#include "harness/store/sqlite/damage.hpp"
#include "harness/store/sqlite/sqlite_statement.hpp"
#include "harness/store/sqlite/sqlite_transaction.hpp"

namespace plumb::store {
namespace {

std::pair<std::int64_t, std::int64_t> two_integers(SqliteConnection& connection, const char* sql) {
  SqliteStatement statement(connection, sql);
  if (!statement.step()) {
    return {0, 0};
  }
  const std::int64_t first = statement.integer();
  return {first, statement.integer()};
}

int newest_version() {
  return migrations().back().number;
}

void refuse_newer(const SqliteConnection& connection, int version) {
  if (version > newest_version()) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("the store '{}' has schema version {}, but this program supports up to {}: use "
                    "the newer plumb that wrote it, or name another store with --store",
                    connection.path().string(),
                    version,
                    newest_version()));
  }
}

}  // namespace

int read_schema_version(SqliteConnection& connection) {
  // Each pair comes from one statement: another process may make or migrate the store meanwhile.
  const auto [all, histories] =
      two_integers(connection,
                   "select count(*), coalesce(sum(type = 'table' and name = 'migrations'), 0) from "
                   "sqlite_master");
  if (histories == 1) {
    const auto [newest, noted] =
        two_integers(connection, "select coalesce(max(number), 0), count(*) from migrations");
    if (newest < 1 || (newest != noted && newest <= newest_version())) {
      throw damaged_store(fmt::format(
          "'{}' lists {} migrations up to number {}", connection.path().string(), noted, newest));
    }
    return static_cast<int>(newest);
  }
  if (all != 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("'{}' is an SQLite database of another program, not a store: name "
                            "another file with --store",
                            connection.path().string()));
  }
  return 0;
}

void bring_up_to_date(SqliteConnection& connection,
                      bool migrate,
                      const std::function<void()>& guard) {
  const int before = read_schema_version(connection);
  refuse_newer(connection, before);
  if (before == newest_version()) {
    return;
  }
  if (before != 0 && !migrate) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the store '{}' has schema version {}, but this program needs {}: run "
                            "plumb store migrate",
                            connection.path().string(),
                            before,
                            newest_version()));
  }
  SqliteTransaction transaction(connection, SqliteTransaction::Kind::kWrite);
  // Another process may have migrated while this one waited for the lock.
  const int version = read_schema_version(connection);
  refuse_newer(connection, version);
  if (version == 0) {
    connection.execute("create table migrations (number integer primary key, name text not null)");
  }
  for (const Migration& migration : migrations()) {
    if (migration.number > version) {
      connection.execute(std::string(migration.sql));
      SqliteStatement note(connection, "insert into migrations (number, name) values (?, ?)");
      note.bind(std::int64_t{migration.number}).bind(migration.name).run();
    }
  }
  guard();
  transaction.commit();
}

}  // namespace plumb::store
