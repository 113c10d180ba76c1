// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/aligned_table.hpp"

#include <algorithm>
#include <ostream>

#include "harness/base/error.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

/// Returns the width of a text in columns. Each code point counts as one: cells hold UTF-8 such as
/// µ and ×.
std::size_t compute_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

AlignedTable::AlignedTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void AlignedTable::add(std::vector<std::string> cells) {
  PLUMB_CHECK(cells.size() == columns_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), sanitize_utf8);
  rows_.push_back(std::move(cells));
}

void AlignedTable::write(std::ostream& out) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = compute_width(columns_[i].title);
    for (const auto& row : rows_) {
      width = std::max(width, compute_width(row[i]));
    }
    widths.push_back(width);
    titles.push_back(columns_[i].title);
  }
  const auto write_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string space(widths[i] - compute_width(cells[i]), ' ');
      line += i == 0 ? "" : "  ";
      line += columns_[i].right ? space + cells[i] : cells[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  write_row(titles);
  for (const auto& row : rows_) {
    write_row(row);
  }
}

void write_aligned(const PageTable& table, std::ostream& out) {
  std::vector<AlignedTable::Column> columns;
  for (const PageCell& cell : table.head) {
    columns.push_back({sanitize_utf8(cell.text), cell.number});
  }
  AlignedTable aligned(std::move(columns));
  for (const PageRow& row : table.rows) {
    std::vector<std::string> cells;
    for (const PageCell& cell : row) {
      cells.push_back(cell.text);
    }
    aligned.add(std::move(cells));
  }
  aligned.write(out);
}

}  // namespace plumb::reporting
