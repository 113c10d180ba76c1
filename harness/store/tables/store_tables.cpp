// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {
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

// Runs that may go: old, without a tag or a decision of a person, not going on, not the newest. A
// later run must not take the number of a removed one, of which its rows' ids are made.
constexpr const char* kFindDoomed =
    "insert into doomed select number from runs where started < ? and state <> 'running' "
    "and number < (select max(number) from runs) "
    "and not exists (select 1 from tags t where t.run = runs.number) "
    "and not exists (select 1 from derived d where d.run = runs.number "
    "and d.kind in ('baseline', 'change'))";
// What a staying run needs: rows that it reuses or derives from, and its newest calibration.
constexpr const char* kSpareNeeded =
    "delete from doomed where run in ("
    "select m.run from reused_rows u join measurements m on m.id = u.measurement "
    "where u.run not in (select run from doomed) "
    "union select m.run from derived_inputs i join derived d on d.id = i.derived "
    "join measurements m on m.id = i.measurement where d.run not in (select run from doomed) "
    "union select d.run from derived d where d.kind = 'calibration' "
    "and not exists (select 1 from derived n where n.kind = 'calibration' "
    "and n.subject = d.subject and n.id > d.id) "
    "and exists (select 1 from runs r join environments e on e.number = r.environment "
    "where e.id = d.subject and r.number not in (select run from doomed)))";
// The newest runs of a key are found anew where one of them goes: see 0002_newest_runs.sql.
constexpr const char* kFindStale =
    "insert into stale select layer_key, cache, environment from newest_runs "
    "where timed_run in (select run from doomed) or settled_run in (select run from doomed)";
constexpr const char* kRemoveStale =
    "delete from newest_runs where exists (select 1 from stale s where "
    "s.layer_key = newest_runs.layer_key and s.cache = newest_runs.cache "
    "and s.environment = newest_runs.environment)";
constexpr const char* kRenewStale =
    "insert into newest_runs "
    "(layer_key, cache, environment, timed_run, timed_started, settled_run, settled_started) "
    "select s.layer_key, s.cache, s.environment, "
    "max(case when s.timed_rank = 1 and s.timed = 1 then s.run end), "
    "max(case when s.timed_rank = 1 and s.timed = 1 then s.started end), "
    "max(case when s.settled_rank = 1 then s.run end), "
    "max(case when s.settled_rank = 1 then s.started end) "
    "from (select g.*, "
    "row_number() over (partition by g.layer_key, g.cache, g.environment "
    "order by g.timed desc, g.started desc, g.run desc) as timed_rank, "
    "row_number() over (partition by g.layer_key, g.cache, g.environment "
    "order by g.started desc, g.run desc) as settled_rank "
    "from (select m.layer_key, m.cache, r.environment, m.run, r.started, "
    "max(case when m.outcome in ('ok', 'unstable') then 1 else 0 end) as timed "
    "from measurements m join runs r on r.number = m.run "
    "join stale t on t.layer_key = m.layer_key and t.cache = m.cache "
    "and t.environment = r.environment "
    "where m.purpose in ('full', 'confirm') "
    "and m.outcome in ('ok', 'unstable', 'unsupported', 'wrong_result', 'out_of_memory') "
    "group by m.layer_key, m.cache, r.environment, m.run, r.started) g) s "
    "group by s.layer_key, s.cache, s.environment";

std::size_t count_doomed(TableStore::Tables& tables) {
  const Connection::StatementCache::Use count =
      tables.statements.use("select count(*) from doomed");
  PLUMB_CHECK(count->step());
  return static_cast<std::size_t>(count->integer());
}

void execute(TableStore::Tables& tables, const char* sql) {
  const Connection::StatementCache::Use statement = tables.statements.use(sql);
  static_cast<void>(statement->step());
}

/// Notes the runs to remove in the table doomed of this connection. A run that is spared may need
/// further ones, so this looks until nothing changes.
std::size_t find_doomed(TableStore::Tables& tables, Timestamp before) {
  tables.connection.execute(
      "create temp table if not exists doomed (run integer primary key); delete from doomed; "
      "create temp table if not exists stale (layer_key integer, cache text, environment integer); "
      "delete from stale");
  {
    const Connection::StatementCache::Use find = tables.statements.use(kFindDoomed);
    find->bind(before);
    static_cast<void>(find->step());
  }
  std::size_t count = count_doomed(tables);
  for (std::size_t last = count + 1; count != last && count > 0;) {
    last = count;
    execute(tables, kSpareNeeded);
    count = count_doomed(tables);
  }
  return count;
}

void remove_doomed(TableStore::Tables& tables) {
  execute(tables, kFindStale);
  execute(tables, kRemoveStale);
  execute(tables,
          "delete from derived_inputs where derived in "
          "(select id from derived where run in (select run from doomed))");
  for (const char* const sql :
       {"delete from profile_samples where profile in "
        "(select id from profiles where run in (select run from doomed))",
        "delete from profile_steps where profile in "
        "(select id from profiles where run in (select run from doomed))",
        "delete from profiles where run in (select run from doomed)",
        "delete from derived where run in (select run from doomed)",
        "delete from reused_rows where run in (select run from doomed)",
        "delete from measurements where run in (select run from doomed)",
        "delete from leases where run in (select run from doomed)",
        "delete from work where run in (select run from doomed)",
        "delete from members where run in (select run from doomed)",
        "delete from shared_runs where run in (select run from doomed)",
        "delete from runs where number in (select run from doomed)",
        "delete from suites where hash not in (select resolved_hash from runs)"}) {
    execute(tables, sql);
  }
  execute(tables, kRenewStale);
  tables.measurements.forget();
}

/// Removes the profiles of runs that started before a moment, have no tag and do not go on. Returns
/// how many. Functions stay: other runs have them, too.
std::size_t remove_profiles(TableStore::Tables& tables, Timestamp before) {
  constexpr const char* kOld =
      "(select p.id from profiles p join runs r on r.number = p.run where r.started < ? "
      "and r.state <> 'running' and not exists (select 1 from tags t where t.run = r.number))";
  std::size_t count = 0;
  using Column = std::pair<const char*, const char*>;
  for (const auto& [table, column] : {Column("profile_samples", "profile"),
                                      Column("profile_steps", "profile"),
                                      Column("profiles", "id")}) {
    const Connection::StatementCache::Use statement = tables.statements.use(
        fmt::format("delete from {} where {} in {} returning {}", table, column, kOld, column));
    statement->bind(before);
    for (count = 0; statement->step();) {
      ++count;
    }
  }
  return count;
}

std::vector<results::RunId> old_untagged_runs(TableStore::Tables& tables, Timestamp before) {
  const Connection::StatementCache::Use statement = tables.statements.use(
      "select id from runs where started < ? "
      "and not exists (select 1 from tags t where t.run = runs.number)");
  statement->bind(before);
  std::vector<results::RunId> ids;
  while (statement->step()) {
    ids.push_back(statement->text());
  }
  return ids;
}

}  // namespace

Store::Garbage collect_garbage_of(TableStore::Tables& tables,
                                  Timestamp before,
                                  Timestamp profiles_before) {
  Store::Garbage collected;
  collected.runs = find_doomed(tables, before);
  if (collected.runs > 0) {
    remove_doomed(tables);
  }
  for (const results::RunId& id : old_untagged_runs(tables, before)) {
    RunTable::Entry entry = tables.runs.require(id);
    const std::int64_t run = entry.run.number;
    for (const char* const sql : {kRemoveRaces, kDropSamples}) {
      const Connection::StatementCache::Use statement = tables.statements.use(sql);
      statement->bind(row_id_of(run, 0)).bind(row_id_of(run + 1, 0));
      while (statement->step()) {
        ++collected.rows;
      }
    }
    const Connection::StatementCache::Use count = tables.statements.use(kCount);
    count->bind(row_id_of(run, 0)).bind(row_id_of(run + 1, 0));
    PLUMB_CHECK(count->step());
    entry.rows_ok = count->integer();
    tables.runs.store(entry);
  }
  collected.profiles = remove_profiles(tables, profiles_before);
  return collected;
}

namespace {

constexpr std::size_t kMaximumFaults = 200;

class Verification {
 public:
  explicit Verification(TableStore::Tables& tables) : tables_(tables) {}

  std::vector<std::string> run() {
    for (const auto check : {&Verification::check_structure,
                             &Verification::check_rows,
                             &Verification::check_runs,
                             &Verification::check_tags,
                             &Verification::check_suites,
                             &Verification::check_environments,
                             &Verification::check_derived,
                             &Verification::check_profiles,
                             &Verification::check_newest}) {
      try {
        (this->*check)();
      } catch (const Error& error) {
        fault(without_advice(error.what()));  // One damaged part must not hide the others.
      }
    }
    if (count_ > kMaximumFaults) {
      faults_.push_back(fmt::format("… and {} more", count_ - kMaximumFaults));
    }
    return std::move(faults_);
  }

 private:
  void fault(std::string text) {
    if (++count_ <= kMaximumFaults) {
      faults_.push_back(std::move(text));
    }
  }

  void check_structure() {
    for (std::string& found : tables_.connection.structural_faults()) {
      fault(std::move(found));
    }
  }

  void check_rows() {
    constexpr std::size_t kRowsAtOnce = 10'000;  // A connection may keep all rows of an answer.
    results::RowId last = std::numeric_limits<results::RowId>::min();
    for (bool more = true; more;) {
      const Connection::StatementCache::Use statement =
          tables_.statements.use(select_rows_sql() + "where m.id > ? order by m.id limit ?");
      statement->bind(last).bind(std::int64_t{kRowsAtOnce});
      MeasurementTable::ReadRows read = tables_.measurements.read(*statement);
      more = read.rows.size() == kRowsAtOnce;
      last = more ? read.rows.back().row : last;
      for (std::string& found : read.faults) {
        fault(std::move(found));
      }
    }
  }

  void check_runs() {
    const Connection::StatementCache::Use statement = tables_.statements.use(
        "select r.id, r.next_position, r.rows_ok, r.rows_failed, "
        "r.brief_checksum is null or r.progress_checksum is null, "
        "count(m.id) filter (where m.outcome in ('ok', 'unstable')), "
        "count(m.id) filter (where m.outcome not in ('ok', 'unstable', 'skipped')), "
        "coalesce(max(m.id) & 4294967295, -1) "
        "from runs r left join measurements m on m.id >= r.number * 4294967296 "
        "and m.id < (r.number + 1) * 4294967296 group by r.number");
    while (statement->step()) {
      const results::RunId id = statement->text();
      check_counts(*statement, id);
      try {
        static_cast<void>(tables_.runs.record(id, RunTable::Detail::kFull));
        static_cast<void>(tables_.measurements.reused_by(tables_.runs.require(id), id));
      } catch (const Error& error) {
        fault(without_advice(error.what()));
      }
    }
  }

  /// Reads the columns from next_position on.
  void check_counts(Statement& statement, const results::RunId& id) {
    const std::int64_t next_position = statement.integer();
    const std::int64_t counted = statement.integer();
    const std::int64_t counted_failed = statement.integer();
    if (statement.flag()) {
      fault(fmt::format("run {}: has no checksum of its header or of its counts", id));
    }
    const std::int64_t present = statement.integer();
    const std::int64_t present_failed = statement.integer();
    const std::int64_t last = statement.integer();
    if (counted != present) {
      fault(fmt::format(
          "run {}: {} timed rows were counted, but the store has {}", id, counted, present));
    }
    if (counted_failed != present_failed) {
      fault(fmt::format("run {}: {} failed rows were counted, but the store has {}",
                        id,
                        counted_failed,
                        present_failed));
    }
    if (next_position <= last) {
      fault(fmt::format(
          "run {}: its next row has position {}, but one has {}", id, next_position, last));
    }
  }

  void check_tags() {
    tables_.runs.check_tags();
    const Connection::StatementCache::Use statement =
        tables_.statements.use("select tag from tags where checksum is null");
    while (statement->step()) {
      fault(fmt::format("tag '{}': has no checksum", statement->text()));
    }
  }

  void check_suites() {
    const Connection::StatementCache::Use statement =
        tables_.statements.use("select hash, resolved from suites");
    while (statement->step()) {
      const std::string hash = statement->text();
      if (sha256(statement->text_view()) != hash) {
        fault(fmt::format("suite {}: does not match its hash", hash));
      }
    }
  }

  void check_environments() {
    const Connection::StatementCache::Use statement =
        tables_.statements.use("select id, identity from environments");
    while (statement->step()) {
      const std::string id = statement->text();
      try {
        if (results::Environment{facts_from_text(statement->text()), {}}.id() != id) {
          fault(fmt::format("environment {}: does not match its id", id));
        }
      } catch (const Error& error) {
        fault(fmt::format("environment {}: {}", id, error.what()));
      }
    }
  }

  void check_derived() {
    for (std::string& found : tables_.derived.faults()) {
      fault(std::move(found));
    }
  }

  void check_profiles() {
    for (std::string& found : tables_.profiles.faults()) {
      fault(std::move(found));
    }
  }

  void check_newest() {
    check_newest_columns("timed", "m.outcome in ('ok', 'unstable')");
    check_newest_columns(
        "settled",
        "m.outcome in ('ok', 'unstable', 'unsupported', 'wrong_result', 'out_of_memory')");
  }

  /// Compares the columns NAME_run and NAME_started with the rows that have `outcomes`.
  void check_newest_columns(const char* name, const char* outcomes) {
    const Connection::StatementCache::Use statement = tables_.statements.use(fmt::format(
        "select k.text from (select t.*, row_number() over (partition by t.layer_key, t.cache, "
        "t.environment order by t.started desc, t.run desc) as place from ("
        "select distinct m.layer_key, m.cache, r.environment, m.run, r.started "
        "from measurements m join runs r on r.number = m.run "
        "where m.purpose in ('full', 'confirm') and {1}) t) t "
        "join layer_keys k on k.id = t.layer_key "
        "left join newest_runs n on n.layer_key = t.layer_key and n.cache = t.cache "
        "and n.environment = t.environment where t.place = 1 and "
        "(n.{0}_run = t.run and n.{0}_started = t.started) is not true",
        name,
        outcomes));
    while (statement->step()) {
      fault(fmt::format("newest run of '{}': is not the newest by {}", statement->text(), name));
    }
  }

  TableStore::Tables& tables_;
  std::vector<std::string> faults_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::string> verify_tables(TableStore::Tables& tables) {
  return Verification(tables).run();
}

}  // namespace plumb::store
