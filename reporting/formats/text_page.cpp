// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/text_page.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kLongCell = 40;  // bytes

/// Returns the columns of a table in the order of a line: those of short cells as they are, then
/// the others, the longest last.
std::vector<std::size_t> line_order(const PageTable& table) {
  std::vector<std::size_t> longest(table.head.size());
  for (std::size_t column = 0; !table.in_order && column < longest.size(); ++column) {
    for (const PageRow& row : table.rows) {
      longest[column] = std::max(longest[column], row[column].text.size());
    }
    longest[column] = longest[column] > kLongCell ? longest[column] : 0;
  }
  std::vector<std::size_t> order(table.head.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return longest[one] < longest[other];
  });
  return order;
}

}  // namespace

void TextPage::line(const char* before, const std::string& text) {
  text_ += before + sanitize_utf8(text) + "\n";
}

void TextPage::list(const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    line("  ", item);
  }
}

void TextPage::table(const PageTable& table) {
  if (!table.caption.empty()) {
    line(table.caption);
  }
  PageTable ordered;
  const std::vector<std::size_t> order = line_order(table);
  const auto copy = [&](const PageRow& from, PageRow& to) {
    for (const std::size_t column : order) {
      to.push_back(from[column]);
    }
  };
  copy(table.head, ordered.head);
  for (const PageRow& row : table.rows) {
    copy(row, ordered.row());
  }
  std::ostringstream out;
  write_aligned(ordered, out);
  text_ += out.str();
}

}  // namespace plumb::reporting
