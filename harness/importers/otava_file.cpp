// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/result_files.hpp"

namespace plumb::importers {
namespace {

/// Table of texts with a line of names.
struct CsvTable {
  struct Row {
    std::size_t line = 0;  ///< of the text, counted from 1
    std::vector<std::string> cells;
  };
  std::vector<std::string> names;
  std::vector<Row> rows;  ///< each with as many cells as there are names
};

constexpr std::size_t kMaxCsvColumns = 10'000;
constexpr std::size_t kMaxCsvRows = 10'000;
constexpr std::size_t kMaxCsvCells = 1'000'000;

/// Reader of one line after the other.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    const std::size_t end = text.find_first_of("\r\n");
    const std::size_t found = text.substr(0, end).find_first_of(",;\t");
    delimiter_ = found == std::string_view::npos ? ',' : text[found];
  }

  /// Returns the next line that is not empty. Absent: the text ended.
  std::optional<CsvTable::Row> next() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
      line_ += text_[at_++] == '\n' ? 1U : 0U;
    }
    if (at_ >= text_.size()) {
      return std::nullopt;
    }
    CsvTable::Row row{line_, {}};
    do {
      if (row.cells.size() == kMaxCsvColumns) {
        refuse(fmt::format("line {}: more than {} columns", row.line, kMaxCsvColumns));
      }
      row.cells.push_back(text_.substr(at_).starts_with('"') ? quoted() : plain());
    } while (taken(delimiter_));
    if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') {
      refuse(fmt::format("line {}: text after a closing quote", line_));
    }
    return row;
  }

 private:
  bool taken(char wanted) {
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  std::string plain() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' &&
           text_[at_] != '\r') {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    const std::size_t first = line_;
    std::string cell;
    ++at_;
    while (true) {
      if (at_ >= text_.size()) {
        refuse(fmt::format("line {}: a quote is not closed", first));
      }
      if (text_[at_] == '"') {
        ++at_;
        if (!taken('"')) {
          return cell;
        }
        cell += '"';
        continue;
      }
      line_ += text_[at_] == '\n' ? 1U : 0U;
      cell += text_[at_++];
    }
  }

  std::string_view text_;
  char delimiter_ = ',';
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// Parses a CSV text (RFC 4180). The delimiter is the first comma, semicolon or tab of the first
/// line. Empty lines are left out. Throws Error{kUser} that names the line, if there are no rows,
/// more than the limits, a row of another length, or a quote without its end. Pure.
CsvTable parse_csv(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  CsvReader reader(text);
  CsvTable table;
  if (auto names = reader.next()) {
    table.names = std::move(names->cells);
  }
  while (auto row = reader.next()) {
    if (row->cells.size() != table.names.size()) {
      refuse(fmt::format("line {}: {} cells for {} column names: the file is not complete",
                         row->line,
                         row->cells.size(),
                         table.names.size()));
    }
    if (table.rows.size() == kMaxCsvRows ||
        (table.rows.size() + 1) * table.names.size() > kMaxCsvCells) {
      refuse(fmt::format(
          "line {}: at most {} lines and {} cells are read", row->line, kMaxCsvRows, kMaxCsvCells));
    }
    table.rows.push_back(*std::move(row));
  }
  if (table.rows.empty()) {
    refuse("not CSV: at least a line of names and a line of values are needed");
  }
  return table;
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

/// Columns of a table by what they hold.
struct Columns {
  std::size_t time = 0;
  std::vector<std::size_t> metrics;
  std::vector<std::size_t> attributes;
};

std::size_t time_column(const CsvTable& table) {
  for (const char* const wanted : {"time", "timestamp", "date"}) {
    for (std::size_t i = 0; i < table.names.size(); ++i) {
      if (in_lower_case(table.names[i]) == wanted) {
        return i;
      }
    }
  }
  refuse("no column 'time', 'timestamp' or 'date'");
}

/// Returns whether a column has numbers only, at least one.
bool is_numeric(const CsvTable& table, std::size_t column) {
  bool any = false;
  for (const CsvTable::Row& row : table.rows) {
    const std::string& cell = row.cells[column];
    if (!cell.empty()) {
      any = true;
      if (!parse_number<double>(cell)) {
        return false;
      }
    }
  }
  return any;
}

Columns find_columns(const CsvTable& table, std::span<const std::string> wanted) {
  static const std::set<std::string> attributes{"commit", "version", "branch", "run", "build"};
  Columns columns;
  columns.time = time_column(table);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const std::string& name = table.names[i];
    check_imported_name(name);
    if (!seen.insert(name).second) {
      refuse(fmt::format("the column '{}' occurs twice", name));
    }
    const bool chosen = wanted.empty()
                            ? !attributes.contains(in_lower_case(name)) && is_numeric(table, i)
                            : std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    if (i != columns.time) {
      (chosen ? columns.metrics : columns.attributes).push_back(i);
    }
  }
  for (const std::string& name : wanted) {
    if (!seen.contains(name)) {
      refuse(fmt::format("no column '{}'", name));
    }
  }
  if (columns.metrics.empty()) {
    refuse("no column of numbers: there is nothing to import");
  }
  return columns;
}

ImportedResults read_row(const CsvTable& table,
                         const Columns& columns,
                         const CsvTable::Row& row,
                         double unit) {
  ImportedResults results;
  results.identity["host"] = "";
  const std::string& date = row.cells[columns.time];
  const auto time = parse_imported_date(date);
  if (!time) {
    refuse(fmt::format("line {}: '{}' is not a time", row.line, date.substr(0, kMaxImportedName)));
  }
  results.started = time->time;
  for (const std::size_t column : columns.attributes) {
    const std::string name = in_lower_case(table.names[column]);
    const std::string value = row.cells[column].substr(0, kMaxImportedName);
    if (name == "commit" || (name == "version" && results.version.empty())) {
      results.version = value;
    }
    results.facts["otava." + table.names[column]] = value;
  }
  for (const std::size_t column : columns.metrics) {
    const std::string& cell = row.cells[column];
    const auto number = parse_number<double>(cell);
    if (cell.empty() || (number && std::isnan(*number))) {
      continue;
    }
    try {
      if (!number) {
        refuse(fmt::format("'{}' is not a number", cell.substr(0, kMaxImportedName)));
      }
      ImportedResults::Benchmark& benchmark = results.benchmarks.emplace_back();
      benchmark.name = table.names[column];
      benchmark.samples = {imported_time(*number * unit)};
    } catch (const Error& error) {
      refuse(fmt::format("line {}, column '{}': {}", row.line, table.names[column], error.what()));
    }
  }
  return results;
}

}  // namespace

ImportedHistory read_otava(std::string_view text,
                           double unit,
                           std::span<const std::string> metrics) {
  const CsvTable table = parse_csv(text);
  const Columns columns = find_columns(table, metrics);
  ImportedHistory history;
  for (const CsvTable::Row& row : table.rows) {
    ImportedResults results = read_row(table, columns, row, unit);
    if (!results.benchmarks.empty()) {
      history.push_back(std::move(results));
    }
  }
  if (history.empty()) {
    refuse("no line has a value: there is nothing to import");
  }
  std::stable_sort(history.begin(), history.end(), [](const auto& one, const auto& other) {
    return one.started < other.started;
  });
  return history;
}

}  // namespace plumb::importers
