// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>

#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

/// Returns JSON that is safe inside <script>. It has no '<', '>' or '&', and no line separator that
/// JavaScript would see.
std::string script_safe(const nlohmann::ordered_json& document) {
  const std::string plain =
      document.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain) {
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// Writes the template with each @@NAME@@ replaced. Text that was filled in is not searched again.
void fill(std::string_view text,
          const std::map<std::string_view, std::string_view>& parts,
          std::ostream& out) {
  while (true) {
    const std::size_t begin = text.find("@@");
    const std::size_t end = begin == std::string_view::npos ? begin : text.find("@@", begin + 2);
    if (end == std::string_view::npos) {
      out << text;
      return;
    }
    out << text.substr(0, begin) << parts.at(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
  }
}

}  // namespace

void write_page(const HtmlPage::Files::Parts& parts, std::ostream& out) {
  const HtmlPage::Files page = embedded_page();
  const std::string safe = script_safe(parts.data);
  fill(page.html,
       {{"TITLE", parts.title},
        {"BODY", parts.body},
        {"CSS", page.css},
        {"DATA", safe},
        {"LICENCE", page.licence},
        {"CHARTS", page.charts},
        {"SCRIPT", parts.script}},
       out);
}

namespace {

const char* tone_class(PageCell::Tone tone) {
  return tone == PageCell::Tone::kGood      ? ""
         : tone == PageCell::Tone::kWarning ? " partial"
                                            : " bad";
}

/// Returns what a cell shows, without its drawing.
std::string content_of(const PageCell& cell) {
  const std::string text = escape_xml(cell.text);
  if (!cell.choice.empty()) {
    return fmt::format(
        "<label><input type=\"radio\" required name=\"{}\" value=\"{}\"{}> {}</label>",
        escape_xml(cell.choice),
        escape_xml(cell.value),
        cell.chosen ? " checked" : "",
        text);
  }
  if (cell.key) {
    return fmt::format("<div class=\"key\"><code tabindex=\"0\">{}</code></div>", text);
  }
  if (cell.code) {
    return fmt::format("<code>{}</code>", text);
  }
  return cell.link.empty() ? text
                           : fmt::format("<a href=\"{}\">{}</a>", escape_xml(cell.link), text);
}

}  // namespace

HtmlPage::HtmlPage(const std::string& title) : title_(escape_xml(title)) {
  body_ = fmt::format("<h1>{}</h1>\n", title_);
}

void HtmlPage::heading(const std::string& text) {
  body_ += fmt::format("<h2>{}</h2>\n", escape_xml(text));
}

void HtmlPage::subheading(const std::string& text) {
  body_ += fmt::format("<h3>{}</h3>\n", escape_xml(text));
}

void HtmlPage::paragraph(const std::string& text) {
  body_ += fmt::format("<p class=\"quiet wide\">{}</p>\n", escape_xml(text));
}

void HtmlPage::list(const std::vector<std::string>& items) {
  body_ += "<ul class=\"quiet wide\">";
  for (const std::string& item : items) {
    body_ += fmt::format("<li>{}</li>", escape_xml(item));
  }
  body_ += "</ul>\n";
}

void HtmlPage::command(const std::string& what, const std::string& command) {
  body_ += fmt::format(
      "<p class=\"quiet wide\">{}: <code>{}</code></p>\n", escape_xml(what), escape_xml(command));
}

void HtmlPage::verdict(const std::string& strong, const std::string& text, PageCell::Tone tone) {
  body_ += fmt::format("<div class=\"verdict{}\"><strong>{}</strong> {}</div>\n",
                       tone_class(tone),
                       escape_xml(strong),
                       escape_xml(text));
}

void HtmlPage::signature_line(const std::string& text) {
  body_ += fmt::format("<p class=\"signature\">{}</p>\n", escape_xml(text));
}

void HtmlPage::drawing(const std::string& svg) {
  body_ += svg + "\n";
}

void HtmlPage::link(const std::string& text, const std::string& address) {
  body_ += fmt::format("<p><a href=\"{}\">{}</a></p>\n", escape_xml(address), escape_xml(text));
}

void HtmlPage::cell(const char* element, const PageCell& cell) {
  const std::string style = cell.number && !cell.style.empty() ? "number " + cell.style
                            : cell.number                      ? "number"
                                                               : cell.style;
  body_ += fmt::format("<{}", element);
  body_ += style.empty() ? "" : fmt::format(" class=\"{}\"", style);
  body_ += cell.quantity ? fmt::format(" data-value=\"{}\"", *cell.quantity) : "";
  body_ += fmt::format(">{}{}</{}>", cell.drawing, content_of(cell), element);
}

void HtmlPage::table(const PageTable& table) {
  const std::string caption = escape_xml(table.caption);
  body_ += caption.empty() ? "" : fmt::format("<p class=\"caption\">{}</p>\n", caption);
  body_ += table.filter.empty() ? "<div class=\"scroll\">"
                                : fmt::format("<div class=\"scroll layers\" data-filter=\"{}\">",
                                              escape_xml(table.filter));
  body_ += fmt::format("<table{}{}><thead><tr>",
                       table.listing ? " class=\"listing\"" : "",
                       caption.empty() ? "" : fmt::format(" aria-label=\"{}\"", caption));
  for (const PageCell& each : table.head) {
    cell("th", each);
  }
  body_ += "</tr></thead><tbody>\n";
  for (const PageRow& row : table.rows) {
    body_ += "<tr>";
    for (const PageCell& each : row) {
      cell("td", each);
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::begin_form(const std::string& address) {
  body_ += fmt::format("<form action=\"{}\">\n", escape_xml(address));
}

void HtmlPage::end_form(const std::string& button) {
  body_ += fmt::format("<p><button type=\"submit\">{}</button></p></form>\n", escape_xml(button));
}

void HtmlPage::script(const std::string& address) {
  script_policy_ = "; script-src 'self'; connect-src 'self'";
  body_ += fmt::format("<script src=\"{}\"></script>\n", escape_xml(address));
}

void HtmlPage::write(std::ostream& out) const {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
         "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'"
      << script_policy_ << "\">\n<title>" << title_ << "</title>\n<style>" << embedded_page().css
      << embedded_page().plots_css
      << ".scroll { margin-bottom: 1.2rem; } th { cursor: default; } a { color: var(--accent); "
         "}</style>\n</head>\n<body>\n<main>\n"
      << body_ << "</main>\n</body>\n</html>\n";
}

void ChartPage::chart(const std::string& label,
                      int height,
                      const char* drawing,
                      const nlohmann::ordered_json& data) {
  body_ += fmt::format("<div class=\"chart\" data-chart=\"{}\"></div>\n", charts_.size());
  charts_.push_back({{"drawing", drawing}, {"label", label}, {"height", height}, {"data", data}});
}

void ChartPage::begin_fold(const std::string& title, bool open) {
  body_ +=
      fmt::format("<details{}><summary>{}</summary>\n", open ? " open" : "", escape_xml(title));
}

void ChartPage::end_fold() {
  body_ += "</details>\n";
}

void ChartPage::write(std::ostream& out) const {
  write_page({title_, body_, charts_, embedded_page().report_script}, out);
}

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

void MarkdownPage::verdict(const std::string& strong, const std::string& text, PageCell::Tone) {
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
