// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/run.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/measurement_table.hpp"
#include "harness/store/tables/record_tables.hpp"
#include "harness/store/tables/run_table.hpp"
#include "harness/store/tables/work_table.hpp"

namespace plumb::store {

/// Store in the tables of a database, whatever its kind.
class TableStore final : public Store, public SharedWork {
 public:
  /// Connection of a store, with the readers and writers of its tables.
  struct Tables {
    explicit Tables(std::unique_ptr<Connection> opened)
        : owned(std::move(opened)),
          connection(*owned),
          statements(connection),
          runs(statements),
          leases(statements),
          work(statements),
          measurements(statements),
          derived(statements),
          profiles(statements),
          series(statements, measurements) {}

    std::unique_ptr<Connection> owned;
    Connection& connection;
    Connection::StatementCache statements;
    RunTable runs;
    WorkTable::Leases leases;
    WorkTable work;
    MeasurementTable measurements;
    DerivedTable derived;
    ProfileTable profiles;
    MeasurementTable::SeriesReader series;
  };

  /// Brings the schema up to date. Throws Error as open_store() does.
  TableStore(std::unique_ptr<Connection> connection, const Store::Access& access);

  void begin_run(const results::RunHeader& header) override;
  [[nodiscard]] bool take_run(const results::RunId& run) override;
  std::vector<results::RowId> append(const results::RunId& run,
                                     std::span<const results::Measurement> rows) override;
  void link_reused(const results::RunId& run, std::span<const results::RowId> rows) override;
  void finish_run(const results::RunId& run, results::RunState state, Timestamp finished) override;
  [[nodiscard]] std::vector<results::RunRecord> runs() const override;
  [[nodiscard]] results::RunRecord find_run(const std::string& name) const override;
  [[nodiscard]] std::vector<results::StoredMeasurement> measurements(
      const results::RunId& run) const override;
  [[nodiscard]] std::vector<results::StoredMeasurement> reusable(
      const std::string& environment_id,
      std::span<const model::LayerKey> keys,
      results::CacheMode cache,
      std::optional<Timestamp> not_before) const override;
  [[nodiscard]] std::vector<Store::SeriesQuery::Point> series(
      const Store::SeriesQuery& query) const override;
  void put_derived(std::span<const results::DerivedRecord> records) override;
  [[nodiscard]] std::vector<results::DerivedRecord> derived(const results::RunId& run,
                                                            const std::string& kind) const override;
  [[nodiscard]] std::vector<results::DerivedRecord> derived_of_runs(
      std::span<const results::RunId> runs, const std::string& kind) const override;
  [[nodiscard]] std::optional<results::DerivedRecord> latest_calibration(
      const std::string& environment_id) const override;
  void put_profile(const results::StoredProfile& profile) override;
  [[nodiscard]] std::vector<results::StoredProfile> profiles(
      const results::RunId& run) const override;
  void tag(const results::RunId& run, const std::string& tag) override;
  [[nodiscard]] SharedWork& shared_work() override;
  results::RunId begin_or_find(const std::string& name,
                               const results::RunHeader& header,
                               const std::string& first) override;
  [[nodiscard]] std::optional<std::int64_t> join(const results::RunId& run,
                                                 const std::string& host,
                                                 std::chrono::milliseconds lease) override;
  void renew(const results::RunId& run,
             std::int64_t member,
             std::chrono::milliseconds lease) override;
  void offer(const results::RunId& run, int stage, std::span<const std::string> items) override;
  [[nodiscard]] std::optional<SharedWork::Claim> claim(const results::RunId& run,
                                                       int stage) override;
  [[nodiscard]] std::vector<SharedWork::Claim> claims(const results::RunId& run,
                                                      int stage) override;
  void note(const results::RunId& run,
            std::span<const std::string> items,
            SharedWork::Progress progress) override;
  [[nodiscard]] std::map<int, SharedWork::Count> count(const results::RunId& run) const override;
  [[nodiscard]] int schema_version() const override;
  [[nodiscard]] std::int64_t revision() const override;
  [[nodiscard]] Bytes size() const override;
  [[nodiscard]] std::vector<std::string> verify() const override;
  void export_to(std::ostream& out, std::span<const results::RunId> runs) const override;
  std::size_t import_from(std::istream& in) override;
  using Store::collect_garbage;
  Store::Garbage collect_garbage(Timestamp before,
                                 std::optional<Timestamp> profiles_before) override;

  /// What another connection needs to write to a run in place of this one.
  struct Place {
    std::int64_t run_number = 0;
    std::int64_t next_position = 0;  ///< of a shared run: of this process's own rows
    std::int64_t fence = 0;          ///< of a shared run: the number of this process
    bool shared = false;
  };
  /// Returns the place of a run that this store has taken.
  [[nodiscard]] Place place(const results::RunId& run) const;
  /// Takes a run again whose lock was lost with a connection, even if it is finished. Returns false
  /// if a live process has it. Throws Error{kEnvironment} if another process had it since.
  [[nodiscard]] bool retake(const results::RunId& run, std::int64_t fence);
  /// Gives back a run that was taken.
  void release(const results::RunId& run) {
    tables_->leases.release(run);
    tables_->work.release(run);
  }
  /// Adds rows at a position, as append() does. Rows that the run has there already are left out:
  /// they are those of a call whose answer was lost.
  void append_at(const results::RunId& run,
                 std::int64_t position,
                 std::span<const results::Measurement> rows);
  /// Ends a run, as finish_run() does, unless it is finished already.
  void end_again(const results::RunId& run, results::RunState state, Timestamp finished);
  /// Returns all derived records of a run.
  [[nodiscard]] std::vector<results::DerivedRecord> derived_of(const results::RunId& run) const;

 private:
  template <typename Work>
  auto within(Connection::TransactionKind kind, Work&& work) const {
    return with_advice(tables_->connection.restore_advice(), [&] {
      Connection::Transaction transaction(tables_->connection, kind);
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        transaction.commit();
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    });
  }
  /// Runs `work` on one snapshot.
  template <typename Work>
  auto read(Work&& work) const {
    return within(Connection::TransactionKind::kRead, std::forward<Work>(work));
  }
  /// Runs `work` in one transaction. If it throws, everything is rolled back.
  template <typename Work>
  auto write(Work&& work) {
    try {
      return within(Connection::TransactionKind::kWrite, std::forward<Work>(work));
    } catch (...) {
      tables_->measurements.forget();
      tables_->profiles.forget();
      throw;
    }
  }
  [[nodiscard]] RunTable::Entry writable_run(const results::RunId& run);
  /// Adds rows of a process that joined a run, unless they are stored already. `position` is that
  /// of its first row among its own.
  std::vector<results::RowId> append_shared(const results::RunId& run,
                                            std::int64_t member,
                                            std::int64_t position,
                                            std::span<const results::Measurement> rows);
  void leave(const results::RunId& run,
             std::int64_t member,
             results::RunState state,
             Timestamp finished);
  /// Returns the number of a run and of this process in it. Throws Error{kInternal} if it has not
  /// joined it.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> membership(const results::RunId& run) const;

  std::unique_ptr<Tables> tables_;
};

/// Writes runs as lines of JSON: all runs if none is named. The runs whose rows they reuse or
/// derive from are written too, so that an export is complete in itself. Only within a read
/// transaction. Throws Error{kEnvironment} if `out` fails.
void export_runs(TableStore::Tables& tables,
                 std::ostream& out,
                 std::span<const results::RunId> runs);

/// Reads what export_runs() wrote into a store. What the store has already stays as it is: a run by
/// its id, a row by its checksum, a tag by its name. A run that took something from an export of
/// format 1 gets a record kUnguardedRecord. Returns the number of new runs. Throws Error{kUser}
/// with the number of the wrong line. Only within a write transaction, so that an error anywhere
/// imports nothing.
std::size_t import_runs(TableStore::Tables& tables, std::istream& in);

/// Removes runs, and drops the samples and the timed races of those that stay, as
/// Store::collect_garbage() says. Environments, layer keys and variants stay: other processes may
/// have noted their numbers. Only within a write transaction.
[[nodiscard]] Store::Garbage collect_garbage_of(TableStore::Tables& tables,
                                                Timestamp before,
                                                Timestamp profiles_before);

/// Checks the file's structure, every reference, every checksum, counts, and newest_runs against
/// the rows. Returns one line per fault, at most a few hundred. Only within a read transaction.
[[nodiscard]] std::vector<std::string> verify_tables(TableStore::Tables& tables);

}  // namespace plumb::store
