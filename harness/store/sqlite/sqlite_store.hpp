// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

#include "harness/store/sqlite/sqlite_tables.hpp"
#include "harness/store/sqlite/sqlite_transaction.hpp"
#include "harness/store/store.hpp"

namespace plumb::store {

/// Store in one SQLite file in WAL mode, with synchronous=NORMAL. A killed process loses nothing
/// that was committed. A power failure may lose the last commits, never the file.
class SqliteStore final : public Store {
 public:
  SqliteStore(const std::filesystem::path& path, const StoreAccess& access);

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
  [[nodiscard]] std::vector<SeriesPoint> series(const SeriesQuery& query) const override;
  [[nodiscard]] std::vector<std::optional<SeriesPoint>> latest(
      std::span<const SeriesQuery> queries) const override;
  void put_derived(std::span<const results::DerivedRecord> records) override;
  [[nodiscard]] std::vector<results::DerivedRecord> derived(const results::RunId& run,
                                                            const std::string& kind) const override;
  [[nodiscard]] std::optional<results::DerivedRecord> latest_calibration(
      const std::string& environment_id) const override;
  void tag(const results::RunId& run, const std::string& tag) override;
  [[nodiscard]] int schema_version() const override;
  [[nodiscard]] std::int64_t revision() const override;
  [[nodiscard]] std::vector<std::string> verify() const override;
  void export_to(std::ostream& out, std::span<const results::RunId> runs) const override;
  std::size_t import_from(std::istream& in) override;
  CollectedGarbage collect_garbage(Timestamp before) override;

 private:
  template <typename Work>
  auto within(SqliteTransaction::Kind kind, Work&& work) const {
    SqliteTransaction transaction(tables_->connection, kind);
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      transaction.commit();
    } else {
      auto result = work();
      transaction.commit();
      return result;
    }
  }
  /// Runs `work` on one snapshot.
  template <typename Work>
  auto read(Work&& work) const {
    return within(SqliteTransaction::Kind::kRead, std::forward<Work>(work));
  }
  /// Runs `work` in one transaction. If it throws, everything is rolled back.
  template <typename Work>
  auto write(Work&& work) {
    try {
      return within(SqliteTransaction::Kind::kWrite, std::forward<Work>(work));
    } catch (...) {
      tables_->measurements.forget();
      throw;
    }
  }
  [[nodiscard]] RunTable::Entry writable_run(const results::RunId& run);

  std::unique_ptr<SqliteTables> tables_;
};

}  // namespace plumb::store
