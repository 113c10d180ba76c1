// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/connection.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

std::pair<std::int64_t, std::int64_t> two_integers(Connection& connection, const char* sql) {
  const std::unique_ptr<Statement> statement = connection.prepare(sql);
  if (!statement->step()) {
    return {0, 0};
  }
  const std::int64_t first = statement->integer();
  return {first, statement->integer()};
}

int newest_version() {
  return migrations().back().number;
}

void refuse_newer(const Connection& connection, int version) {
  if (version > newest_version()) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("the store '{}' has schema version {}, but this program supports up to {}: use "
                    "the newer plumb that wrote it, or name another store with --store",
                    connection.name(),
                    version,
                    newest_version()));
  }
}

}  // namespace

int read_schema_version(Connection& connection) {
  // Each answer comes from one statement: another process may make or migrate the store meanwhile.
  const Connection::Contents contents = connection.contents();
  if (contents.has_history) {
    const auto [newest, noted] =
        two_integers(connection, "select coalesce(max(number), 0), count(*) from migrations");
    if (newest < 1 || (newest != noted && newest <= newest_version())) {
      throw damaged_store(fmt::format(
          "'{}' lists {} migrations up to number {}", connection.name(), noted, newest));
    }
    return static_cast<int>(newest);
  }
  if (contents.tables != 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("'{}' is a database of another program, not a store: name another "
                            "one with --store",
                            connection.name()));
  }
  return 0;
}

void bring_up_to_date(Connection& connection, bool migrate, const std::function<void()>& guard) {
  const int before = read_schema_version(connection);
  refuse_newer(connection, before);
  if (before == newest_version()) {
    return;
  }
  if (before != 0 && !migrate) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the store '{}' has schema version {}, but this program needs {}: run "
                            "plumb store migrate",
                            connection.name(),
                            before,
                            newest_version()));
  }
  Connection::Transaction transaction(connection, Connection::TransactionKind::kWrite);
  // Another process may have migrated while this one waited for the lock.
  const int version = read_schema_version(connection);
  refuse_newer(connection, version);
  if (version == 0) {
    connection.execute(connection.history_sql());
  }
  for (const Connection::Migration& migration : migrations()) {
    if (migration.number > version) {
      connection.execute(connection.migration_sql(migration.sql));
      const std::unique_ptr<Statement> note =
          connection.prepare("insert into migrations (number, name) values (?, ?)");
      note->bind(std::int64_t{migration.number}).bind(migration.name).run();
    }
  }
  guard();
  transaction.commit();
}

}  // namespace plumb::store
