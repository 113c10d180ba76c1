// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/csv_table.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

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

}  // namespace

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

}  // namespace plumb::importers
