// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/otava_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/csv_table.hpp"
#include "harness/importers/imported_date.hpp"

namespace plumb::importers {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

std::optional<double> number_in(const std::string& cell) {
  double number = 0.0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return fault == std::errc{} && end == cell.data() + cell.size() ? std::optional(number)
                                                                  : std::nullopt;
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
      if (!number_in(cell)) {
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
    const auto number = number_in(cell);
    if (cell.empty() || (number && std::isnan(*number))) {
      continue;
    }
    try {
      if (!number) {
        refuse(fmt::format("'{}' is not a number", cell.substr(0, kMaxImportedName)));
      }
      ImportedBenchmark& benchmark = results.benchmarks.emplace_back();
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
