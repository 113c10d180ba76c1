// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/review/triage_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/review/triage_documents.hpp"
#include "reporting/document/escape_xml.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/html_page.hpp"
#include "reporting/html/embedded_page.hpp"

namespace plumb::reporting {
namespace {

constexpr const char* kForm =
    "<form id=\"decide\"><p><select "
    "name=\"decision\"><option>accept</option><option>invalid</option>"
    "<option>assign</option><option>note</option></select> <input name=\"text\" required "
    "placeholder=\"reason, name or note\"> <input name=\"who\" placeholder=\"your name\"> <input "
    "name=\"token\" type=\"password\" required autocomplete=\"off\" placeholder=\"token\"> <button "
    "type=\"submit\">enter for the chosen changes</button></p><p id=\"said\"></p></form>";

PageCell choice_cell(const analysis::OpenChange& each) {
  return drawing_cell(fmt::format("<input type=\"checkbox\" name=\"change\" value=\"{}\">",
                                  escape_xml(each.series + "@" + each.change.run)),
                      "");
}

std::string notes_text(const analysis::SeriesChange& change) {
  std::string text;
  for (const analysis::ChangeNote& note : change.notes) {
    text += (text.empty() ? "" : "; ") + (note.who.empty() ? "" : note.who + ": ") + note.text;
  }
  return text;
}

void add_group(const analysis::ChangeGroup& group,
               const results::CommitLink& commits,
               bool decidable,
               HtmlPage& page) {
  page.heading(group.causes.empty() ? "No recorded fact changed"
                                    : cause_text(group.causes.front()));
  std::vector<PageRow> causes;
  for (const analysis::PossibleCause& cause : group.causes) {
    causes.push_back({text_cell(std::string(to_text(cause.kind))),
                      cause.kind == analysis::CauseKind::kCommit
                          ? link_cell(cause_text(cause), commits.address(cause.after))
                          : text_cell(cause_text(cause))});
  }
  causes.push_back(
      {text_cell("kernels"), text_cell(fmt::format("{}", fmt::join(group.families, ", ")))});
  page.table({text_cell("in common"), text_cell("")}, causes);
  PageRow head{text_cell("series"),
               number_cell("before"),
               number_cell("after"),
               number_cell("change"),
               text_cell("state"),
               text_cell("for"),
               text_cell("suite"),
               text_cell("stack"),
               text_cell("run"),
               text_cell("notes")};
  if (decidable) {
    head.insert(head.begin(), text_cell(""));
  }
  std::vector<PageRow> rows;
  for (const analysis::OpenChange& each : group.changes) {
    PageRow row{code_cell(each.series),
                number_cell(time_text(Seconds(each.change.before))),
                number_cell(time_text(Seconds(each.change.after))),
                number_cell(change_text(each.change.after / each.change.before)),
                text_cell(std::string(to_text(each.change.state))),
                text_cell(each.change.assignee.empty() ? "–" : each.change.assignee),
                text_cell(each.history.suite),
                text_cell(each.history.stack),
                link_cell(to_text(each.started).substr(0, 10), "/runs/" + each.change.run),
                text_cell(notes_text(each.change))};
    if (decidable) {
      row.insert(row.begin(), choice_cell(each));
    }
    rows.push_back(std::move(row));
  }
  page.table(head, rows);
}

}  // namespace

void write_triage_page(std::span<const analysis::ChangeGroup> groups,
                       const results::CommitLink& commits,
                       bool decidable,
                       std::ostream& out) {
  HtmlPage page("Open changes");
  page.link("all models and runs", "/");
  if (groups.empty()) {
    page.paragraph("No change waits for a decision.");
  }
  for (const analysis::ChangeGroup& group : groups) {
    add_group(group, commits, decidable, page);
  }
  if (decidable && !groups.empty()) {
    page.heading("Decide");
    page.drawing(kForm);
    page.script("/triage.js");
  } else {
    page.paragraph(
        "This page only shows. Decide with plumb triage, or set a token for the server.");
  }
  page.write(out);
}

std::string_view triage_script() {
  return embedded_page().triage_script;
}

}  // namespace plumb::reporting
