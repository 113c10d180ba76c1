// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/garbage_collection.hpp"

#include <vector>

#include "harness/base/error.hpp"
#include "harness/store/sqlite/sqlite_store.hpp"

namespace plumb {
namespace {

constexpr const char* kRemoveRaces =
    "delete from measurements where id >= ? and id < ? and purpose = 'race' "
    "and outcome in ('ok', 'unstable') "
    "and not exists (select 1 from reused_rows u where u.measurement = measurements.id) "
    "and not exists (select 1 from derived_inputs d where d.measurement = measurements.id) "
    "returning id";
constexpr const char* kDropSamples =
    "update measurements set samples = null where id >= ? and id < ? and samples is not null "
    "and not exists (select 1 from reused_rows u join tags t on t.run = u.run "
    "where u.measurement = measurements.id) returning id";
constexpr const char* kCount =
    "select count(*) from measurements m where m.id >= ? and m.id < ? "
    "and m.outcome in ('ok', 'unstable')";

std::vector<RunId> old_untagged_runs(SqliteTables& tables, Timestamp before) {
  const StatementUse statement = tables.statements.use(
      "select id from runs where started < ? "
      "and not exists (select 1 from tags t where t.run = runs.number)");
  statement->bind(before);
  std::vector<RunId> ids;
  while (statement->step()) {
    ids.push_back(statement->text());
  }
  return ids;
}

}  // namespace

std::size_t collect_garbage_of(SqliteTables& tables, Timestamp before) {
  std::size_t touched = 0;
  for (const RunId& id : old_untagged_runs(tables, before)) {
    RunEntry entry = tables.runs.require(id);
    const std::int64_t run = entry.run.number;
    for (const char* const sql : {kRemoveRaces, kDropSamples}) {
      const StatementUse statement = tables.statements.use(sql);
      statement->bind(row_id_of(run, 0)).bind(row_id_of(run + 1, 0));
      while (statement->step()) {
        ++touched;
      }
    }
    const StatementUse count = tables.statements.use(kCount);
    count->bind(row_id_of(run, 0)).bind(row_id_of(run + 1, 0));
    PLUMB_CHECK(count->step());
    entry.rows_ok = count->integer();
    tables.runs.store(entry);
  }
  return touched;
}

}  // namespace plumb
