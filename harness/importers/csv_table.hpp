// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::importers {

/// Table of texts with a line of names.
struct CsvTable {
  struct Row {
    std::size_t line = 0;  ///< of the text, counted from 1
    std::vector<std::string> cells;
  };
  std::vector<std::string> names;
  std::vector<Row> rows;  ///< each with as many cells as there are names
};

inline constexpr std::size_t kMaxCsvColumns = 10'000;
inline constexpr std::size_t kMaxCsvRows = 10'000;
inline constexpr std::size_t kMaxCsvCells = 1'000'000;

/// Parses a CSV text (RFC 4180). The delimiter is the first comma, semicolon or tab of the first
/// line. Empty lines are left out. Throws Error{kUser} that names the line, if there are no rows,
/// more than the limits, a row of another length, or a quote without its end. Pure.
[[nodiscard]] CsvTable parse_csv(std::string_view text);

}  // namespace plumb::importers
