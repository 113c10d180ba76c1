// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/review/triage_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/escape_xml.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/html_page.hpp"
#include "reporting/formats/text_page.hpp"
#include "reporting/html/embedded_page.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kChangesShown = 5;
constexpr std::size_t kCausesShown = 4;  // on a terminal

constexpr const char* kForm =
    "<form id=\"decide\"><p><select "
    "name=\"decision\"><option>accept</option><option>invalid</option>"
    "<option>assign</option><option>note</option></select> <input name=\"text\" required "
    "placeholder=\"reason, name or note\"> <input name=\"who\" placeholder=\"your name\"> <input "
    "name=\"token\" type=\"password\" required autocomplete=\"off\" placeholder=\"token\"> <button "
    "type=\"submit\">enter for the chosen changes</button></p><p id=\"said\"></p></form>";

std::string address_of(const analysis::PossibleCause& cause, const results::CommitLink& commits) {
  return cause.kind == analysis::CauseKind::kCommit ? commits.address(cause.after) : "";
}

std::size_t count_changes(std::span<const analysis::ChangeGroup> groups) {
  std::size_t changes = 0;
  for (const analysis::ChangeGroup& group : groups) {
    changes += group.changes.size();
  }
  return changes;
}

std::string title_of(std::span<const analysis::ChangeGroup> groups) {
  return groups.empty() ? "no open changes"
                        : fmt::format("{}, {}",
                                      counted(count_changes(groups), "open change"),
                                      counted(groups.size(), "likely cause"));
}

/// Adds lines with what changed beside the first cause, which the heading has. A terminal also has
/// the addresses of commits.
void add_causes(const std::vector<analysis::PossibleCause>& causes,
                const results::CommitLink& commits,
                Page& page) {
  const bool terminal = page.extent() == Extent::kTerminal;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < causes.size() && !(terminal && i == kCausesShown); ++i) {
    if (i > 0) {
      lines.push_back("also changed: " + cause_text(causes[i]));
    }
    if (const std::string address = address_of(causes[i], commits); terminal && !address.empty()) {
      lines.push_back(address);
    }
  }
  if (!lines.empty()) {
    page.list(lines);
  }
}

/// Returns the commit of a change, with its address.
PageCell commit_cell(const analysis::OpenChange& change, const results::CommitLink& commits) {
  for (const analysis::PossibleCause& cause : change.causes) {
    if (cause.kind == analysis::CauseKind::kCommit) {
      return link_cell(results::short_commit(cause.after), address_of(cause, commits));
    }
  }
  return text_cell("–");
}

/// Adds the first changes of a group, at most `shown`. On a page they have links, and if
/// `decidable` boxes to choose them.
void add_changes(std::span<const analysis::OpenChange> changes,
                 const results::CommitLink& commits,
                 std::size_t shown,
                 bool decidable,
                 Page& page) {
  const bool linked = page.extent() == Extent::kPage;
  PageTable table{.head = head_row("series|#before|#after|#change|state|for|suite|stack")};
  if (linked) {
    table.head << "run"
               << "commit";
  }
  for (const analysis::OpenChange& each : changes.first(std::min(shown, changes.size()))) {
    PageCell series = code_cell(each.series);
    if (decidable) {
      series.drawing = fmt::format("<input type=\"checkbox\" name=\"change\" value=\"{}\"> ",
                                   escape_xml(each.series + "@" + each.change.run));
    }
    PageRow& row = table.row() << std::move(series) << Seconds(each.change.before)
                               << Seconds(each.change.after)
                               << number_cell(change_text(each.change.after / each.change.before))
                               << to_text(each.change.state)
                               << (each.change.assignee.empty() ? "–" : each.change.assignee)
                               << each.history.suite << each.history.stack;
    if (linked) {
      row << link_cell(to_text(each.started).substr(0, 10), "/runs/" + each.change.run)
          << commit_cell(each, commits);
    }
  }
  page.table(table);
  if (changes.size() > shown) {
    page.paragraph(fmt::format("and {} more: --all", changes.size() - shown));
  }
}

void add_group(const analysis::ChangeGroup& group,
               const results::CommitLink& commits,
               std::size_t shown,
               bool decidable,
               Page& page) {
  page.heading(fmt::format(
      "{}: {} ({})",
      group.causes.empty() ? "no recorded fact changed" : cause_text(group.causes.front()),
      counted(group.changes.size(), "change"),
      fmt::join(group.families, ", ")));
  add_causes(group.causes, commits, page);
  add_changes(group.changes, commits, shown, decidable, page);
  std::set<results::RunId> runs;
  std::vector<std::string> notes;
  for (const analysis::OpenChange& each : group.changes) {
    runs.insert(each.change.run);
    for (const analysis::SeriesChange::Note& note : each.change.notes) {
      notes.push_back(
          fmt::format("{}: {} ({})", note.who.empty() ? "note" : note.who, note.text, each.series));
    }
  }
  if (!notes.empty()) {
    page.list(notes);
  }
  page.command("decide",
               fmt::format("plumb triage accept @{} --reason TEXT", fmt::join(runs, " @")));
}

analysis::Json change_json(const analysis::OpenChange& each) {
  analysis::Json notes = analysis::Json::array();
  for (const analysis::SeriesChange::Note& note : each.change.notes) {
    notes.push_back({{"who", note.who}, {"text", note.text}});
  }
  return {{"change", each.series + "@" + each.change.run},
          {"series", each.series},
          {"run", each.change.run},
          {"started", to_text(each.started)},
          {"suite", each.history.suite},
          {"stack", each.history.stack},
          {"threads", each.history.threads},
          {"system", each.history.system},
          {"family", each.family},
          {"before_seconds", each.change.before},
          {"after_seconds", each.change.after},
          {"state", to_text(each.change.state)},
          {"assignee",
           each.change.assignee.empty() ? analysis::Json() : analysis::Json(each.change.assignee)},
          {"notes", std::move(notes)}};
}

analysis::Json group_json(const analysis::ChangeGroup& group, const results::CommitLink& commits) {
  analysis::Json causes = analysis::Json::array();
  for (const analysis::PossibleCause& cause : group.causes) {
    const std::string address = address_of(cause, commits);
    causes.push_back(
        {{"kind", to_text(cause.kind)},
         {"fact", cause.fact},
         {"before", cause.before},
         {"after", cause.after},
         {"commit_url", address.empty() ? analysis::Json() : analysis::Json(address)}});
  }
  analysis::Json changes = analysis::Json::array();
  for (const analysis::OpenChange& each : group.changes) {
    changes.push_back(change_json(each));
  }
  return {
      {"causes", std::move(causes)}, {"families", group.families}, {"changes", std::move(changes)}};
}

}  // namespace

std::string cause_text(const analysis::PossibleCause& cause) {
  const bool commit = cause.kind == analysis::CauseKind::kCommit;
  const auto shown = [&](const std::string& value) {
    return value.empty() ? std::string("–") : commit ? results::short_commit(value) : value;
  };
  return fmt::format(
      "{} {} → {}", commit ? "commit" : cause.fact, shown(cause.before), shown(cause.after));
}

void write_triage(std::span<const analysis::ChangeGroup> groups,
                  const results::CommitLink& commits,
                  OutputMode style,
                  Detail detail,
                  std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json list = analysis::Json::array();
    for (const analysis::ChangeGroup& group : groups) {
      list.push_back(group_json(group, commits));
    }
    return write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                                     {"open", count_changes(groups)},
                                     {"groups", std::move(list)}},
                      out);
  }
  TextPage page(title_of(groups));
  for (const analysis::ChangeGroup& group : groups) {
    const std::size_t shown = detail == Detail::kAll ? group.changes.size() : kChangesShown;
    add_group(group, commits, shown, false, page);
  }
  page.write(out);
}

void write_triage_page(std::span<const analysis::ChangeGroup> groups,
                       const results::CommitLink& commits,
                       bool decidable,
                       std::ostream& out) {
  HtmlPage page(title_of(groups));
  page.link("all models and runs", "/");
  for (const analysis::ChangeGroup& group : groups) {
    add_group(group, commits, group.changes.size(), decidable, page);
  }
  if (!decidable) {
    page.paragraph(
        "This page only shows. Decide with plumb triage, or set a token for the server.");
  } else if (!groups.empty()) {
    page.heading("Decide");
    page.drawing(kForm);
    page.script("/triage.js");
  }
  page.write(out);
}

std::string_view triage_script() {
  return embedded_page().triage_script;
}

}  // namespace plumb::reporting
