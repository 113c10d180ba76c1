// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/html_page.hpp"

#include <fmt/format.h>

#include <ostream>

#include "reporting/document/escaped_text.hpp"
#include "reporting/html/embedded_page.hpp"
#include "reporting/html/page_writer.hpp"

namespace plumb::reporting {
namespace {

const char* tone_class(Tone tone) {
  return tone == Tone::kGood ? "" : tone == Tone::kWarning ? " partial" : " bad";
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

void HtmlPage::verdict(const std::string& strong, const std::string& text, Tone tone) {
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

}  // namespace plumb::reporting
