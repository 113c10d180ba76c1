// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/run_table.hpp"

namespace plumb::store {

/// Returns a storable copy of a row. Empty: the row is storable as it is. The copy has an infinite
/// error in place of NaN, and its texts in UTF-8. Attributes and readings that cannot be stored are
/// left out. Throws Error{kInternal} for a time that is not finite.
[[nodiscard]] std::optional<results::Measurement> repaired(const results::Measurement& row);

/// Returns the checksum of a storable row. It covers all but the samples (which guard themselves),
/// the id, and how the row was reused. `run`, `key` and `variant` are the ContentHash of these
/// texts.
[[nodiscard]] std::int64_t row_checksum(const results::Measurement& row,
                                        std::int64_t run,
                                        std::int64_t key,
                                        std::int64_t variant);

/// Columns of the table measurements, in the order of bind_row().
extern const std::string_view kInsertColumns;

/// Columns of m (measurements) for read_row().
extern const std::string_view kRowColumns;
/// Returns the statement that selects them: "select … from measurements m ". Add joins, or a
/// condition on m.
[[nodiscard]] const std::string& select_rows_sql();
/// Reads attributes that a row refers to. Throws Error{kEnvironment} for a text that has none.
[[nodiscard]] results::Attributes read_attributes(const std::string& text, results::RowId row);

/// Table of short ids for long texts: layer_keys, variants or attribute_sets, and the ids of runs.
/// An id never gets another text.
class TextTable {
 public:
  struct Entry {
    std::int64_t id = 0;
    std::int64_t checksum = 0;  ///< ContentHash of the text
  };
  struct Text {
    std::string text;
    std::int64_t checksum = 0;  ///< ContentHash of the text
  };

  TextTable(Connection::StatementCache& statements,
            const std::string& table,
            const std::string& id_column = "id",
            const std::string& text_column = "text");

  /// Returns the entry of `text`, and makes it if it is new. Only within a write transaction.
  const Entry& entry_of(const std::string& text);
  /// Reads the texts of some ids, with few statements. Not while rows are streamed.
  void load(std::vector<std::int64_t> ids);
  /// Returns the text of an id that was loaded. Nothing: the table lacks it.
  [[nodiscard]] const Text* text_of(std::int64_t id) const;
  /// Clears the cache, after a transaction that was rolled back.
  void forget() {
    last_ = nullptr;
    entries_.clear();
    texts_.clear();
  }

 private:
  Connection::StatementCache& statements_;
  std::string find_sql_;
  std::string insert_sql_;
  std::string load_sql_;  ///< up to its first id
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::int64_t, Text> texts_;               ///< by id
  const std::pair<const std::string, Entry>* last_ = nullptr;  ///< rows of one key come together
};

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

/// Writer and reader of the tables measurements and reused_rows. The caller opens the transactions.
class MeasurementTable {
 public:
  /// What a row refers to, and what its verification needs.
  struct References {
    /// Identifiers and checksum that a row is stored with.
    struct Place {
      results::RowId id = 0;
      std::int64_t run = 0;
      std::int64_t key = 0;
      std::int64_t variant = 0;
      std::int64_t checksum = 0;
      std::optional<std::int64_t> attributes;  ///< id of the row's set; absent: it has none
    };

    /// Checksums of texts that a row refers to. Absent: the store lacks the text.
    struct Checksums {
      std::optional<std::int64_t> run;
      std::optional<std::int64_t> key;
      std::optional<std::int64_t> variant;
    };

    std::int64_t run = 0;  ///< by the column
    std::int64_t key = 0;
    std::int64_t variant = 0;
    std::optional<std::int64_t> attributes;
    std::int64_t checksum = 0;
    bool samples_intact = true;
  };

  /// Reader of series: one point per run, its best variant. That is the fastest confirmed variant
  /// if any was confirmed, else the fastest full one, by corrected median. Of a variant that
  /// several processes timed, the middle one counts.
  class SeriesReader {
   public:
    SeriesReader(Connection::StatementCache& statements, MeasurementTable& measurements)
        : statements_(statements), measurements_(measurements) {}

    /// Returns all points, in the order in which the runs started.
    [[nodiscard]] std::vector<Store::SeriesQuery::Point> all(const Store::SeriesQuery& query);

   private:
    Connection::StatementCache& statements_;
    MeasurementTable& measurements_;
  };

  /// Count of a run's own rows by outcome, to be compared with what the run counted.
  class Count {
   public:
    void add(const results::Measurement& row);
    /// Throws Error{kEnvironment} if the run has fewer or more rows than it counted.
    void require_complete(const RunTable::Entry& run, const results::RunId& id) const;

   private:
    std::int64_t ok_ = 0;
    std::int64_t failed_ = 0;
  };

  /// Rows of an answer.
  struct ReadRows {
    std::vector<results::StoredMeasurement> rows;
    std::vector<References> references;  ///< of each row
    std::vector<std::string> faults;     ///< one line per row with something wrong
  };

  explicit MeasurementTable(Connection::StatementCache& statements);

  /// Stores rows at positions from `first_position` on, and returns their ids. `run_checksum` is
  /// the hash of the run's id.
  std::vector<results::RowId> insert(const RunTable::Newest::Run& run,
                                     std::int64_t run_checksum,
                                     std::int64_t first_position,
                                     std::span<const results::Measurement> rows);
  /// Makes rows part of a run, and adds them to its `reused_checksum`. Rows that are linked already
  /// stay. Throws Error{kInternal} for a row that does not exist.
  void link_reused(RunTable::Entry& run, std::span<const results::RowId> rows);
  void forget();

  /// Reads all rows of a statement that selects them by select_rows_sql(), with the texts that they
  /// refer to. About `expected` come.
  [[nodiscard]] ReadRows read(Statement& statement, std::size_t expected = 0);
  /// Does so. Throws Error{kEnvironment} if something is wrong with one.
  [[nodiscard]] std::vector<results::StoredMeasurement> read_intact(Statement& statement,
                                                                    std::size_t expected = 0);
  /// Returns a run's own and reused rows, in order of id. Throws Error{kEnvironment} if one does
  /// not match its checksum, or if there are not as many as the run counted.
  [[nodiscard]] std::vector<results::StoredMeasurement> of_run(const RunTable::Entry& run,
                                                               const results::RunId& id);
  [[nodiscard]] std::vector<results::StoredMeasurement> reusable(
      const std::string& environment,
      std::span<const model::LayerKey> keys,
      results::CacheMode cache,
      std::optional<Timestamp> not_before);
  /// Returns the ids of the rows that a run reuses, in order. Throws Error{kEnvironment} if they
  /// are not those that it took over.
  [[nodiscard]] std::vector<results::RowId> reused_by(const RunTable::Entry& run,
                                                      const results::RunId& id);

 private:
  /// Row ready to be bound, with the values that its parameters refer to.
  struct PreparedRow {
    std::optional<results::Measurement> repair;
    const results::Measurement* row = nullptr;  ///< the given one, or `repair`
    References::Place place;
    std::string samples;
    std::string readings;
  };
  void prepare(const results::Measurement& given,
               const RunTable::Newest::Run& run,
               std::int64_t run_checksum,
               std::int64_t position,
               PreparedRow& out);

  /// Gives rows their texts, and notes what is wrong with them.
  void complete(ReadRows& read);

  Connection::StatementCache& statements_;
  TextTable runs_;
  TextTable keys_;
  TextTable variants_;
  TextTable attributes_;
  RunTable::Newest newest_;
};

/// Binds all columns of one row. `row`, `samples` (encoded) and `readings` (JSON) must live until
/// the statement has run.
void bind_row(Statement& statement,
              const MeasurementTable::References::Place& place,
              const results::Measurement& row,
              std::string_view samples,
              const std::string& readings);

/// Reads the current row of a statement, all but the texts that it refers to: those of its run,
/// key, variant and attributes. Throws Error{kEnvironment} if a word in it is unknown.
[[nodiscard]] MeasurementTable::References read_row(Statement& statement,
                                                    results::StoredMeasurement& row);

/// Returns what is wrong with a row, which has its texts, by its checksums, references and id.
/// Empty: nothing.
[[nodiscard]] std::string row_fault(const results::StoredMeasurement& row,
                                    const MeasurementTable::References& references,
                                    const MeasurementTable::References::Checksums& texts);

}  // namespace plumb::store
