// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "harness/store/store.hpp"
#include "harness/store/tables/store_tables.hpp"
#include "harness/store/tables/transaction.hpp"

namespace plumb::store {

/// Store in the tables of a database, whatever its kind.
class TableStore final : public Store {
 public:
  /// Brings the schema up to date. Throws Error as open_store() does.
  TableStore(std::unique_ptr<Connection> connection, const StoreAccess& access);

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
  [[nodiscard]] Bytes size() const override;
  [[nodiscard]] std::vector<std::string> verify() const override;
  void export_to(std::ostream& out, std::span<const results::RunId> runs) const override;
  std::size_t import_from(std::istream& in) override;
  CollectedGarbage collect_garbage(Timestamp before) override;

 private:
  template <typename Work>
  auto within(TransactionKind kind, Work&& work) const {
    Transaction transaction(tables_->connection, kind);
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
    return within(TransactionKind::kRead, std::forward<Work>(work));
  }
  /// Runs `work` in one transaction. If it throws, everything is rolled back.
  template <typename Work>
  auto write(Work&& work) {
    try {
      return within(TransactionKind::kWrite, std::forward<Work>(work));
    } catch (...) {
      tables_->measurements.forget();
      throw;
    }
  }
  [[nodiscard]] RunTable::Entry writable_run(const results::RunId& run);

  std::unique_ptr<StoreTables> tables_;
};

}  // namespace plumb::store
