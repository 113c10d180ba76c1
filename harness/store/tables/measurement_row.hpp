// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/results/run.hpp"
#include "harness/store/tables/statement.hpp"

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

/// Identifiers and checksum that a row is stored with.
struct RowPlace {
  results::RowId id = 0;
  std::int64_t run = 0;
  std::int64_t key = 0;
  std::int64_t variant = 0;
  std::int64_t checksum = 0;
  std::optional<std::int64_t> attributes;  ///< id of the row's set; absent: it has none
};
/// Binds all columns of one row. `row`, `samples` (encoded) and `readings` (JSON) must live until
/// the statement has run.
void bind_row(Statement& statement,
              const RowPlace& place,
              const results::Measurement& row,
              std::string_view samples,
              const std::string& readings);

/// Columns for read_row(), of m (measurements), r (runs), k (layer_keys), v (variants) and a
/// (attribute_sets).
extern const std::string_view kRowColumns;
/// Returns the statement that selects kRowColumns: "select … from measurements m join …". Add a
/// condition on m, k, v or r.
[[nodiscard]] const std::string& select_rows_sql();

/// Row as read, with what its verification needs.
struct ReadRow {
  results::StoredMeasurement stored;
  std::int64_t run_number = 0;
  std::int64_t checksum = 0;
  bool samples_intact = true;
};
/// Reads the current row of a statement. Throws Error{kEnvironment} if a word in it is unknown.
[[nodiscard]] ReadRow read_row(Statement& statement);
/// Returns what is wrong with a row by its checksums and its id. Empty: nothing.
[[nodiscard]] std::string row_fault(const ReadRow& row);
/// Returns the row. Throws Error{kEnvironment} if something is wrong with it.
[[nodiscard]] results::StoredMeasurement intact(ReadRow row);

}  // namespace plumb::store
