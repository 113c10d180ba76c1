// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/results/run.hpp"
#include "harness/store/sqlite/sqlite_statement.hpp"

namespace plumb {

/// Returns what must be stored instead of a row, if anything: an infinite error for one that is not
/// a number, texts in UTF-8. Throws Error{kInternal} for a time that is not finite.
[[nodiscard]] std::optional<Measurement> repaired(const Measurement& row);

/// Returns the checksum of a storable row: everything but its samples (which guard themselves), its
/// id, and how it was reused. `run`, `key` and `variant` are the ContentHash of these texts.
[[nodiscard]] std::int64_t row_checksum(const Measurement& row,
                                        std::int64_t run,
                                        std::int64_t key,
                                        std::int64_t variant);

/// Inserts `count` rows with the columns of the table measurements, in the order of bind_row.
[[nodiscard]] std::string insert_rows_sql(std::size_t count);

/// The identifiers and the checksum that a row is stored with.
struct RowPlace {
  RowId id = 0;
  std::int64_t run = 0;
  std::int64_t key = 0;
  std::int64_t variant = 0;
  std::int64_t checksum = 0;
  std::optional<std::int64_t> attributes;  ///< the set that it has
};
/// Binds all columns of one row; `row`, `samples` (encoded) and `readings` (JSON) must live until
/// the statement ran.
void bind_row(SqliteStatement& statement,
              const RowPlace& place,
              const Measurement& row,
              std::string_view samples,
              const std::string& readings);

/// Selects the columns that read_row takes: "select … from measurements m join …"; add a condition
/// on m, k (layer_keys), v (variants), r (runs).
[[nodiscard]] const std::string& select_rows_sql();

/// A row as read, with what its verification needs.
struct ReadRow {
  StoredMeasurement stored;
  std::int64_t run_number = 0;
  std::int64_t checksum = 0;
  bool samples_intact = true;
};
/// Reads the current row. Throws Error{kEnvironment} if a word in it is unknown.
[[nodiscard]] ReadRow read_row(SqliteStatement& statement);

}  // namespace plumb
