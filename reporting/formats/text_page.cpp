// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/text_page.hpp"

#include <algorithm>
#include <sstream>

#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kLongCell = 40;  // bytes

/// Returns the columns that a place shows of a table, in the order of a line: those of short cells
/// as they are, then the others, the longest last.
std::vector<std::size_t> line_order(const PageTable& table, Extent extent) {
  std::vector<std::size_t> longest(table.head.size());
  std::vector<std::size_t> order;
  for (std::size_t column = 0; column < longest.size(); ++column) {
    for (const PageRow& row : table.rows) {
      longest[column] = std::max(longest[column], row[column].text.size());
    }
    longest[column] = !table.in_order && longest[column] > kLongCell ? longest[column] : 0;
    if (table.head[column].least <= extent) {
      order.push_back(column);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return longest[one] < longest[other];
  });
  return order;
}

}  // namespace

void TextPage::put(const std::string& line) {
  text_ += (gap_ && !text_.empty() ? "\n" : "") + indent_ + line + "\n";
  gap_ = false;
}

void TextPage::line(const char* before, const std::string& text) {
  put(before + sanitize_utf8(text));
}

void TextPage::heading(const std::string& text) {
  gap_ = true;
  line(text);
}

void TextPage::list(const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    line("  ", item);
  }
}

void TextPage::command(const std::string& what, const std::string& command) {
  line(what);
  line("  $ ", command);
}

void TextPage::begin_fold(const std::string& title, bool /*open*/) {
  heading(title);
  indent_ += "  ";
}

void TextPage::end_fold() {
  indent_.resize(indent_.size() - 2);
  gap_ = true;
}

void TextPage::table(const PageTable& table) {
  if (!table.caption.empty()) {
    line(table.caption);
  }
  PageTable ordered;
  const std::vector<std::size_t> order = line_order(table, extent_);
  const auto copy = [&](const PageRow& from, PageRow& to) {
    for (const std::size_t column : order) {
      to.push_back(from[column]);
    }
  };
  copy(table.head, ordered.head);
  for (const PageRow& row : table.rows) {
    copy(row, ordered.row());
  }
  std::stringstream lines;
  write_aligned(ordered, lines);
  for (std::string each; std::getline(lines, each);) {
    put(each);
  }
}

}  // namespace plumb::reporting
