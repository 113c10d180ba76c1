// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/results/run.hpp"
#include "harness/store/tables/connection.hpp"

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

/// Columns of m (measurements) for read_row().
extern const std::string_view kRowColumns;
/// Returns the statement that selects them: "select … from measurements m ". Add joins, or a
/// condition on m.
[[nodiscard]] const std::string& select_rows_sql();

/// What a row refers to, and what its verification needs.
struct RowReferences {
  std::int64_t run = 0;  ///< by the column
  std::int64_t key = 0;
  std::int64_t variant = 0;
  std::optional<std::int64_t> attributes;
  std::int64_t checksum = 0;
  bool samples_intact = true;
};
/// Checksums of texts that a row refers to. Absent: the store lacks the text.
struct TextChecksums {
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> key;
  std::optional<std::int64_t> variant;
};
/// Reads the current row of a statement, all but the texts that it refers to: those of its run,
/// key, variant and attributes. Throws Error{kEnvironment} if a word in it is unknown.
[[nodiscard]] RowReferences read_row(Statement& statement, results::StoredMeasurement& row);
/// Reads attributes that a row refers to. Throws Error{kEnvironment} for a text that has none.
[[nodiscard]] results::Attributes read_attributes(const std::string& text, results::RowId row);
/// Returns what is wrong with a row, which has its texts, by its checksums, references and id.
/// Empty: nothing.
[[nodiscard]] std::string row_fault(const results::StoredMeasurement& row,
                                    const RowReferences& references,
                                    const TextChecksums& texts);

}  // namespace plumb::store
