// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/damage.hpp"
#include "harness/store/tables/store_maintenance.hpp"

namespace plumb::store {
namespace {

constexpr std::size_t kMaximumFaults = 200;

class Verification {
 public:
  explicit Verification(StoreTables& tables) : tables_(tables) {}

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
      const StatementUse statement =
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
    const StatementUse statement = tables_.statements.use(
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
    const StatementUse statement =
        tables_.statements.use("select tag from tags where checksum is null");
    while (statement->step()) {
      fault(fmt::format("tag '{}': has no checksum", statement->text()));
    }
  }

  void check_suites() {
    const StatementUse statement = tables_.statements.use("select hash, resolved from suites");
    while (statement->step()) {
      const std::string hash = statement->text();
      if (sha256(statement->text_view()) != hash) {
        fault(fmt::format("suite {}: does not match its hash", hash));
      }
    }
  }

  void check_environments() {
    const StatementUse statement = tables_.statements.use("select id, identity from environments");
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
    const StatementUse statement = tables_.statements.use(fmt::format(
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

  StoreTables& tables_;
  std::vector<std::string> faults_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::string> verify_tables(StoreTables& tables) {
  return Verification(tables).run();
}

}  // namespace plumb::store
