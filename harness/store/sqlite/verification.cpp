// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/verification.hpp"

#include <fmt/format.h>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/sqlite/sqlite_store.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMaximumFaults = 200;

class Verification {
 public:
  explicit Verification(SqliteTables& tables) : tables_(tables) {}

  std::vector<std::string> run() {
    for (const auto check : {&Verification::check_file,
                             &Verification::check_references,
                             &Verification::check_rows,
                             &Verification::check_runs,
                             &Verification::check_suites,
                             &Verification::check_derived,
                             &Verification::check_newest}) {
      try {
        (this->*check)();
      } catch (const Error& error) {
        fault(error.what());  // One damaged part must not hide the others.
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

  void check_file() {
    const StatementUse statement = tables_.statements.use("pragma integrity_check");
    while (statement->step()) {
      std::string line = statement->text();
      if (line != "ok") {
        fault("file: " + line);
      }
    }
  }

  void check_references() {
    const StatementUse statement = tables_.statements.use("pragma foreign_key_check");
    while (statement->step()) {
      const std::string table = statement->text();
      const std::optional<std::int64_t> row = statement->optional_integer();
      fault(fmt::format("{} row {}: refers to a row of {} that there is not",
                        table,
                        row.value_or(0),
                        statement->text_view()));
    }
  }

  void check_rows() {
    const StatementUse statement = tables_.statements.use(select_rows_sql() + "order by m.id");
    while (statement->step()) {
      const ReadRow row = read_row(*statement);
      const StoredMeasurement& stored = row.stored;
      const Measurement& measurement = stored.measurement;
      const std::int64_t checksum = row_checksum(measurement,
                                                 ContentHash().bytes(stored.run).stored(),
                                                 ContentHash().bytes(measurement.key.text).stored(),
                                                 ContentHash().bytes(measurement.variant).stored());
      if (checksum != row.checksum) {
        fault(fmt::format("row {} of run {} ({}): does not match its checksum",
                          stored.row,
                          stored.run,
                          measurement.key.text));
      }
      if (!row.samples_intact) {
        fault(fmt::format("row {} of run {} ({}): its samples are damaged",
                          stored.row,
                          stored.run,
                          measurement.key.text));
      }
      if (stored.row >> 32 != row.run_number) {
        fault(fmt::format("row {}: belongs to run {} by its id, to {} by its column",
                          stored.row,
                          stored.row >> 32,
                          row.run_number));
      }
    }
  }

  void check_runs() {
    const StatementUse statement = tables_.statements.use(
        "select r.id, r.checksum, e.id, r.rows_ok, (select count(*) from measurements m "
        "where m.id >= r.number * 4294967296 and m.id < (r.number + 1) * 4294967296 "
        "and m.outcome in ('ok', 'unstable')) "
        "from runs r join environments e on e.number = r.environment");
    while (statement->step()) {
      const RunId id = statement->text();
      const std::int64_t checksum = statement->integer();
      const std::string environment = statement->text();
      const std::int64_t counted = statement->integer();
      const std::int64_t present = statement->integer();
      const RunRecord record = tables_.runs.record(id, RunTable::Detail::kFull);
      if (run_checksum(record.header) != checksum) {
        fault(fmt::format("run {}: does not match its checksum", id));
      }
      if (record.header.environment.id() != environment) {
        fault(fmt::format("run {}: its environment is not the one that {} names", id, environment));
      }
      if (counted != present) {
        fault(
            fmt::format("run {}: {} timed rows were counted, {} are there", id, counted, present));
      }
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

  void check_derived() {
    const StatementUse statement = tables_.statements.use(
        "select r.id, d.kind, d.subject, d.checksum from derived d "
        "join runs r on r.number = d.run order by r.number, d.id");
    std::vector<DerivedRecord> records;
    std::size_t next = 0;
    while (statement->step()) {
      const RunId run = statement->text();
      if (next == records.size() || records[next].run != run) {
        records = tables_.derived.of_run(run, std::nullopt);
        next = 0;
      }
      const DerivedRecord& record = records.at(next++);
      (void)statement->text_view();
      (void)statement->text_view();
      if (derived_checksum(record, record.inputs) != statement->integer()) {
        fault(fmt::format(
            "{} of {} in run {}: does not match its checksum", record.kind, record.subject, run));
      }
    }
  }

  void check_newest() {
    check_newest_column("timed_started", "m.outcome in ('ok', 'unstable')");
    check_newest_column(
        "settled_started",
        "m.outcome in ('ok', 'unstable', 'unsupported', 'wrong_result', 'out_of_memory')");
  }

  void check_newest_column(const char* column, const char* outcomes) {
    const StatementUse statement = tables_.statements.use(fmt::format(
        "select k.text, t.cache, t.newest, n.{0} from (select m.layer_key, m.cache, "
        "r.environment, max(r.started) as newest from measurements m "
        "join runs r on r.number = m.run where m.purpose in ('full', 'confirm') and {1} "
        "group by m.layer_key, m.cache, r.environment) t "
        "join layer_keys k on k.id = t.layer_key "
        "left join newest_runs n on n.layer_key = t.layer_key and n.cache = t.cache "
        "and n.environment = t.environment where n.{0} is null or n.{0} <> t.newest",
        column,
        outcomes));
    while (statement->step()) {
      fault(fmt::format("newest run of '{}': is not the newest by {}", statement->text(), column));
    }
  }

  SqliteTables& tables_;
  std::vector<std::string> faults_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::string> verify_tables(SqliteTables& tables) {
  return Verification(tables).run();
}

}  // namespace plumb
