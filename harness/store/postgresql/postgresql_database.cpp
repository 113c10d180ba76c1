// SPDX-License-Identifier: Apache-2.0
// What a store needs of a PostgreSQL database beyond a connection.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstdlib>
#include <regex>

#include "harness/base/error.hpp"
#include "harness/store/damage.hpp"
#include "harness/store/migration.hpp"
#include "harness/store/postgresql/copy_statement.hpp"
#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/postgresql/postgresql_statement.hpp"
#include "harness/store/postgresql/row_stream.hpp"

namespace plumb::store {
namespace {

/// Lock of a run in the session of a connection. The server drops it when the session ends.
class SessionLock final : public RunLock {
 public:
  SessionLock(PostgresqlConnection& connection, std::int64_t number)
      : connection_(connection), number_(number) {}
  ~SessionLock() override { connection_.unlock(number_); }
  SessionLock(const SessionLock&) = delete;
  SessionLock& operator=(const SessionLock&) = delete;
  SessionLock(SessionLock&&) = delete;
  SessionLock& operator=(SessionLock&&) = delete;

 private:
  PostgresqlConnection& connection_;
  std::int64_t number_;
};

// Tables of the schema that comes first in the search path.
constexpr const char* kFromTables =
    "from pg_class where relkind in ('r', 'p') and relnamespace = "
    "(select oid from pg_namespace where nspname = current_schema())";

std::size_t count_references() {
  std::size_t count = 0;
  for (const Migration& migration : migrations()) {
    constexpr std::string_view kWord = " references ";
    for (std::size_t at = migration.sql.find(kWord); at != std::string_view::npos;
         at = migration.sql.find(kWord, at + 1)) {
      ++count;
    }
  }
  return count;
}

}  // namespace

std::unique_ptr<Statement> PostgresqlConnection::prepare(const std::string& sql) {
  return std::make_unique<PostgresqlStatement>(*this, sql);
}

std::unique_ptr<Statement> PostgresqlConnection::prepare_stream(const std::string& sql) {
  return std::make_unique<RowStream>(*this, sql);
}

std::unique_ptr<Statement> PostgresqlConnection::prepare_insert(const std::string& table,
                                                                std::string_view columns,
                                                                std::size_t /*count*/) {
  return std::make_unique<CopyStatement>(*this, table, columns);
}

std::int64_t PostgresqlConnection::query_number(const std::string& sql) {
  const PostgresqlResult result = query(sql);
  PLUMB_CHECK(PQntuples(result.get()) == 1);
  return std::atoll(PQgetvalue(result.get(), 0, 0));
}

std::int64_t PostgresqlConnection::revision() {
  return query_number("select count from store_writes");
}

Bytes PostgresqlConnection::size() {
  return Bytes{query_number(
      fmt::format("select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint {}", kFromTables))};
}

std::unique_ptr<RunLock> PostgresqlConnection::try_lock(const results::RunId& run) {
  const std::int64_t number = lock_number("run " + run);
  const bool locked =
      query_number(fmt::format("select pg_try_advisory_lock({})::integer", number)) != 0;
  return locked ? std::make_unique<SessionLock>(*this, number) : nullptr;
}

Connection::Contents PostgresqlConnection::contents() {
  PostgresqlStatement statement(
      *this,
      fmt::format("select count(*), coalesce(sum(case when relname = 'migrations' then 1 else 0 "
                  "end), 0) {}",
                  kFromTables));
  PLUMB_CHECK(statement.step());
  Contents contents;
  contents.tables = statement.integer();
  contents.has_history = statement.flag();
  return contents;
}

std::string PostgresqlConnection::history_sql() const {
  // The count tells readers that something was stored.
  return "create table migrations (number integer primary key, name text not null); "
         "create table store_writes (count bigint not null); "
         "insert into store_writes (count) values (0)";
}

std::string PostgresqlConnection::migration_sql(std::string_view sql) const {
  // In SQLite, integers have 64 bits.
  static const std::regex key("integer primary key");
  return std::regex_replace(std::string(sql), key, "bigint primary key");
}

std::vector<std::string> PostgresqlConnection::structural_faults() {
  struct Reference {
    std::string table;
    std::string column;
    std::string to_table;
    std::string to_column;
  };
  std::vector<Reference> references;
  PostgresqlStatement statement(
      *this,
      "select c.relname::text, a.attname::text, p.relname::text, b.attname::text "
      "from pg_constraint f join pg_class c on c.oid = f.conrelid "
      "join pg_class p on p.oid = f.confrelid "
      "join pg_attribute a on a.attrelid = c.oid and a.attnum = f.conkey[1] "
      "join pg_attribute b on b.attrelid = p.oid and b.attnum = f.confkey[1] "
      "where f.contype = 'f' and c.relnamespace = "
      "(select oid from pg_namespace where nspname = current_schema()) order by 1, 2");
  while (statement.step()) {
    Reference reference;
    for (std::string* const text :
         {&reference.table, &reference.column, &reference.to_table, &reference.to_column}) {
      *text = statement.text();
    }
    references.push_back(std::move(reference));
  }
  std::vector<std::string> faults;
  if (references.size() < count_references()) {
    faults.push_back(fmt::format(
        "schema: the server guards {} references, not {}", references.size(), count_references()));
  }
  // A dump that was restored without triggers may lack rows.
  for (const Reference& each : references) {
    const std::int64_t count =
        query_number(fmt::format("select count(*) from {0} c where c.{1} is not null and not "
                                 "exists (select 1 from {2} p where p.{3} = c.{1})",
                                 each.table,
                                 each.column,
                                 each.to_table,
                                 each.to_column));
    if (count > 0) {
      faults.push_back(fmt::format(
          "{}: {} rows refer to rows of {} that do not exist", each.table, count, each.to_table));
    }
  }
  return faults;
}

std::string_view PostgresqlConnection::restore_advice() const {
  return kRestoreDatabase;
}

void PostgresqlConnection::shrink() {
  execute(
      "vacuum (analyze) runs, measurements, reused_rows, derived, derived_inputs, newest_runs, "
      "suites, leases");
}

}  // namespace plumb::store
