// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/page.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "harness/base/error.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {

PageCell text_cell(std::string text) {
  PageCell cell;
  cell.text = std::move(text);
  return cell;
}

PageCell number_cell(std::string text) {
  PageCell cell = text_cell(std::move(text));
  cell.number = true;
  return cell;
}

PageCell link_cell(std::string text, std::string address) {
  PageCell cell = text_cell(std::move(text));
  cell.link = std::move(address);
  return cell;
}

PageCell code_cell(std::string text) {
  PageCell cell = text_cell(std::move(text));
  cell.code = true;
  return cell;
}

PageCell drawing_cell(std::string svg, std::string text) {
  PageCell cell = text_cell(std::move(text));
  cell.drawing = std::move(svg);
  return cell;
}

PageCell key_cell(std::string key) {
  if (key.empty()) {
    return text_cell("–");
  }
  PageCell cell = code_cell(std::move(key));
  cell.key = true;
  return cell;
}

PageCell quantity_cell(const std::optional<double>& quantity,
                       std::string (*text)(double quantity)) {
  PageCell cell = number_cell(quantity ? text(*quantity) : "–");
  cell.quantity = quantity;
  return cell;
}

PageRow& operator<<(PageRow& row, PageCell cell) {
  row.push_back(std::move(cell));
  return row;
}

PageRow& operator<<(PageRow& row, std::string_view text) {
  return row << text_cell(std::string(text));
}

PageRow& operator<<(PageRow& row, const std::optional<Seconds>& time) {
  return row << quantity_cell(time ? std::optional(time->count()) : std::nullopt,
                              [](double seconds) { return time_text(Seconds(seconds)); });
}

PageRow head_row(std::string_view names) {
  PageRow row;
  while (!names.empty()) {
    const auto take = [&](char mark) {
      const bool marked = names.starts_with(mark);
      names.remove_prefix(marked ? 1 : 0);
      return marked;
    };
    PageCell& cell = row.emplace_back();
    cell.least = take('*') ? Extent::kComment : take('+') ? Extent::kPage : Extent::kTerminal;
    cell.number = take('#');
    const std::size_t end = std::min(names.find('|'), names.size());
    cell.text = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return row;
}

PageCell word_cell(std::string text, PageCell::Tone tone) {
  PageCell cell = text_cell(std::move(text));
  cell.style = tone == PageCell::Tone::kGood      ? "word good"
               : tone == PageCell::Tone::kWarning ? "word warn"
                                                  : "word bad";
  return cell;
}

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
