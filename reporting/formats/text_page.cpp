// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/text_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "reporting/document/escaped_text.hpp"
#include "reporting/document/page.hpp"

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

namespace {

constexpr std::size_t kForHeadings = kMarkdownLimit - 200;
constexpr std::size_t kForParts = kMarkdownLimit - 4000;  // headings and signatures always fit
constexpr std::size_t kMaxRows = 25;
constexpr std::size_t kMaxRowBytes = 4000;

/// Returns the line of a row, with the columns that the head shows in a comment.
std::string row_text(const PageRow& head, const PageRow& row) {
  std::string text = "|";
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (head[column].least > Extent::kComment) {
      continue;
    }
    const PageCell& cell = row[column];
    // Addresses within the server lead nowhere from a comment.
    const std::string shown =
        cell.code ? markdown_code(cell.text)
                  : markdown_link(cell.text, cell.link.starts_with("http") ? cell.link : "");
    text += fmt::format(" {} |", cell.text.empty() ? "" : shown);
  }
  return text + "\n";
}

}  // namespace

MarkdownPage::MarkdownPage(const std::string& title) {
  add(fmt::format("## {}\n", markdown_cell(title)), kForHeadings);
}

bool MarkdownPage::add(const std::string& block, std::size_t limit) {
  if (text_.size() + block.size() > limit) {
    ++left_out_;
    return false;
  }
  text_ += block;
  return true;
}

void MarkdownPage::heading(const std::string& text) {
  add(fmt::format("\n### {}\n\n", markdown_cell(text)), kForHeadings);
}

void MarkdownPage::subheading(const std::string& text) {
  add(fmt::format("\n#### {}\n\n", markdown_cell(text)), kForParts);
}

void MarkdownPage::paragraph(const std::string& text) {
  add(fmt::format("{}\n\n", markdown_cell(text)), kForParts);
}

void MarkdownPage::list(const std::vector<std::string>& items) {
  std::string block;
  for (const std::string& item : items) {
    block += fmt::format("- {}\n", markdown_cell(item));
  }
  add(block + "\n", kForParts);
}

void MarkdownPage::command(const std::string& what, const std::string& command) {
  add(fmt::format("{}: {}\n\n", markdown_cell(what), markdown_code(command)),
      fold_begin_ > 0 ? kForParts : kForHeadings);
}

void MarkdownPage::begin_fold(const std::string& title, bool open) {
  fold_begin_ = text_.size();
  left_out_before_fold_ = left_out_;
  add(fmt::format(
          "<details{}><summary>{}</summary>\n\n", open ? " open" : "", markdown_cell(title)),
      kForParts);
}

void MarkdownPage::end_fold() {
  text_ += "</details>\n\n";  // always fits: parts leave room for it
  if (left_out_ > left_out_before_fold_) {
    text_.resize(fold_begin_);
    left_out_ = left_out_before_fold_ + 1;
  }
  fold_begin_ = 0;
}

void MarkdownPage::verdict(const std::string& strong, const std::string& text, Tone) {
  add(fmt::format("**{}** {}\n\n", markdown_cell(strong), markdown_cell(text)), kForParts);
}

void MarkdownPage::signature_line(const std::string& text) {
  add(fmt::format("{}: \\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\n\n", markdown_cell(text)),
      kForHeadings);
}

void MarkdownPage::preformatted(const std::string& lines) {
  add(markdown_block(lines) + "\n", kForParts);
}

void MarkdownPage::table(const PageTable& table) {
  if (!table.caption.empty()) {
    paragraph(table.caption);
  }
  if (table.listing) {
    std::ostringstream lines;
    write_aligned(table, lines);
    preformatted(std::move(lines).str());
    return;
  }
  std::string block = row_text(table.head, table.head) + "|";
  for (const PageCell& cell : table.head) {
    block += cell.least > Extent::kComment ? "" : cell.number ? " ---: |" : " --- |";
  }
  block += "\n";
  const std::size_t room =
      table.whole && text_.size() < kForParts ? (kForParts - text_.size()) / 2 : 0;
  std::size_t written = 0;
  for (const PageRow& row : table.rows) {
    const std::string line = row_text(table.head, row);
    if (written >= kMaxRows ? block.size() + line.size() > room : line.size() > kMaxRowBytes) {
      break;
    }
    block += line;
    ++written;
  }
  if (written < table.rows.size()) {
    block += fmt::format("\nand {} more: the HTML report has them\n", table.rows.size() - written);
  }
  add(block + "\n", kForParts);
}

void MarkdownPage::write(std::ostream& out) const {
  out << text_;
  if (left_out_ > 0) {
    out << fmt::format("\n{} parts do not fit a comment: the HTML report has them\n", left_out_);
  }
}

}  // namespace plumb::reporting
