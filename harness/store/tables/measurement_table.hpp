// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/store/store.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/measurement_row.hpp"
#include "harness/store/tables/run_row.hpp"
#include "harness/store/tables/text_table.hpp"

namespace plumb::store {

/// Returns a row's id: run number × 2^32 + position in the run. The rows of a run therefore lie
/// together.
[[nodiscard]] inline results::RowId row_id_of(std::int64_t run_number, std::int64_t position) {
  return (run_number << 32) | position;
}
[[nodiscard]] inline std::int64_t run_number_of(results::RowId row) {
  return row >> 32;
}
[[nodiscard]] inline std::int64_t position_of(results::RowId row) {
  return row & 0xFFFFFFFF;
}

/// Count of a run's own rows by outcome, to be compared with what the run counted.
class RowCount {
 public:
  void add(const results::Measurement& row);
  /// Throws Error{kEnvironment} if the run has fewer or more rows than it counted.
  void require_complete(const RunEntry& run, const results::RunId& id) const;

 private:
  std::int64_t ok_ = 0;
  std::int64_t failed_ = 0;
};

/// Writer and reader of the tables measurements and reused_rows. The caller opens the transactions.
class MeasurementTable {
 public:
  /// Rows of an answer.
  struct ReadRows {
    std::vector<results::StoredMeasurement> rows;
    std::vector<RowReferences> references;  ///< of each row
    std::vector<std::string> faults;        ///< one line per row with something wrong
  };

  explicit MeasurementTable(StatementCache& statements);

  /// Stores rows at positions from `first_position` on, and returns their ids. `run_checksum` is
  /// the hash of the run's id.
  std::vector<results::RowId> insert(const NewestRuns::Run& run,
                                     std::int64_t run_checksum,
                                     std::int64_t first_position,
                                     std::span<const results::Measurement> rows);
  /// Makes rows part of a run, and adds them to its `reused_checksum`. Rows that are linked already
  /// stay. Throws Error{kInternal} for a row that does not exist.
  void link_reused(RunEntry& run, std::span<const results::RowId> rows);
  void forget();

  /// Reads all rows of a statement that selects them by select_rows_sql(), with the texts that they
  /// refer to. About `expected` come.
  [[nodiscard]] ReadRows read(Statement& statement, std::size_t expected = 0);
  /// Does so. Throws Error{kEnvironment} if something is wrong with one.
  [[nodiscard]] std::vector<results::StoredMeasurement> read_intact(Statement& statement,
                                                                    std::size_t expected = 0);
  /// Returns a run's own and reused rows, in order of id. Throws Error{kEnvironment} if one does
  /// not match its checksum, or if there are not as many as the run counted.
  [[nodiscard]] std::vector<results::StoredMeasurement> of_run(const RunEntry& run,
                                                               const results::RunId& id);
  [[nodiscard]] std::vector<results::StoredMeasurement> reusable(
      const std::string& environment,
      std::span<const model::LayerKey> keys,
      results::CacheMode cache,
      std::optional<Timestamp> not_before);
  /// Returns the ids of the rows that a run reuses, in order. Throws Error{kEnvironment} if they
  /// are not those that it took over.
  [[nodiscard]] std::vector<results::RowId> reused_by(const RunEntry& run,
                                                      const results::RunId& id);

 private:
  /// Row ready to be bound, with the values that its parameters refer to.
  struct PreparedRow {
    std::optional<results::Measurement> repair;
    const results::Measurement* row = nullptr;  ///< the given one, or `repair`
    RowPlace place;
    std::string samples;
    std::string readings;
  };
  void prepare(const results::Measurement& given,
               const NewestRuns::Run& run,
               std::int64_t run_checksum,
               std::int64_t position,
               PreparedRow& out);

  /// Gives rows their texts, and notes what is wrong with them.
  void complete(ReadRows& read);

  StatementCache& statements_;
  TextTable runs_;
  TextTable keys_;
  TextTable variants_;
  TextTable attributes_;
  NewestRuns newest_;
};

/// Reader of series: one point per run, its best variant. That is the fastest confirmed variant if
/// any was confirmed, else the fastest full one, by corrected median. Of a variant that several
/// processes timed, the middle one counts.
class SeriesReader {
 public:
  SeriesReader(StatementCache& statements, MeasurementTable& measurements)
      : statements_(statements), measurements_(measurements) {}

  /// Returns all points, in the order in which the runs started.
  [[nodiscard]] std::vector<SeriesPoint> all(const SeriesQuery& query);

 private:
  StatementCache& statements_;
  MeasurementTable& measurements_;
};

}  // namespace plumb::store
