// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/review/triage_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "harness/base/error.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

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

std::string address_of(const analysis::OpenChange::Cause& cause,
                       const results::CommitLink& commits) {
  return cause.kind == analysis::OpenChange::Cause::Kind::kCommit ? commits.address(cause.after)
                                                                  : "";
}

std::size_t count_changes(std::span<const analysis::OpenChange::Group> groups) {
  std::size_t changes = 0;
  for (const analysis::OpenChange::Group& group : groups) {
    changes += group.changes.size();
  }
  return changes;
}

std::string title_of(std::span<const analysis::OpenChange::Group> groups) {
  return groups.empty() ? "no open changes"
                        : fmt::format("{}, {}",
                                      counted(count_changes(groups), "open change"),
                                      counted(groups.size(), "likely cause"));
}

/// Adds lines with what changed beside the first cause, which the heading has. A terminal also has
/// the addresses of commits.
void add_causes(const std::vector<analysis::OpenChange::Cause>& causes,
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
  for (const analysis::OpenChange::Cause& cause : change.causes) {
    if (cause.kind == analysis::OpenChange::Cause::Kind::kCommit) {
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

void add_group(const analysis::OpenChange::Group& group,
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

analysis::Json group_json(const analysis::OpenChange::Group& group,
                          const results::CommitLink& commits) {
  analysis::Json causes = analysis::Json::array();
  for (const analysis::OpenChange::Cause& cause : group.causes) {
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

std::string cause_text(const analysis::OpenChange::Cause& cause) {
  const bool commit = cause.kind == analysis::OpenChange::Cause::Kind::kCommit;
  const auto shown = [&](const std::string& value) {
    return value.empty() ? std::string("–") : commit ? results::short_commit(value) : value;
  };
  return fmt::format(
      "{} {} → {}", commit ? "commit" : cause.fact, shown(cause.before), shown(cause.after));
}

void write_triage(std::span<const analysis::OpenChange::Group> groups,
                  const results::CommitLink& commits,
                  OutputMode style,
                  Detail detail,
                  std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json list = analysis::Json::array();
    for (const analysis::OpenChange::Group& group : groups) {
      list.push_back(group_json(group, commits));
    }
    return write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                                     {"open", count_changes(groups)},
                                     {"groups", std::move(list)}},
                      out);
  }
  TextPage page(title_of(groups));
  for (const analysis::OpenChange::Group& group : groups) {
    const std::size_t shown = detail == Detail::kAll ? group.changes.size() : kChangesShown;
    add_group(group, commits, shown, false, page);
  }
  page.write(out);
}

void write_triage_page(std::span<const analysis::OpenChange::Group> groups,
                       const results::CommitLink& commits,
                       bool decidable,
                       std::ostream& out) {
  HtmlPage page(title_of(groups));
  page.link("all models and runs", "/");
  for (const analysis::OpenChange::Group& group : groups) {
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

namespace {

constexpr std::size_t kPlotColumns = 60;
constexpr std::size_t kPlotRows = 10;
constexpr std::size_t kMaxSuspects = 20;

PageCell commit_cell(const results::RunHeader& run, const results::CommitLink& commits) {
  const std::string commit = results::commit_of(run.environment);
  return commit.empty() ? text_cell("–")
                        : link_cell(results::short_commit(commit), commits.address(commit));
}

void add_change(const RegressionIssue& issue, MarkdownPage& page) {
  page.heading("What changed");
  std::vector<PageRow> rows;
  for (const analysis::ChangeEvidence& each : issue.changes) {
    const analysis::SeriesChange& change = each.change.change;
    rows.push_back({text_cell(each.change.series),
                    number_cell(time_text(Seconds(change.before))),
                    number_cell(time_text(Seconds(change.after))),
                    number_cell(change_text(change.after / change.before)),
                    text_cell(change.confidence ? fmt::format("{:.4f}", *change.confidence) : "–"),
                    text_cell(state_text(change))});
  }
  page.table({text_cell("series"),
              number_cell("before"),
              number_cell("after"),
              number_cell("change"),
              text_cell("confidence"),
              text_cell("state")},
             rows);
  const analysis::ChangeEvidence& first = issue.changes.front();
  const auto side = [&](const char* name, const auto& cell) {
    return PageRow{text_cell(name), cell(first.before), cell(first.after)};
  };
  page.table({text_cell(""), text_cell("last run before"), text_cell("first run of the new level")},
             {side("run", [](const results::RunHeader& run) { return text_cell(run.id); }),
              side("started",
                   [](const results::RunHeader& run) { return text_cell(to_text(run.started)); }),
              side("commit",
                   [&](const results::RunHeader& run) { return commit_cell(run, issue.commits); }),
              side("suite", [](const results::RunHeader& run) { return text_cell(run.suite); }),
              side("stack", [](const results::RunHeader& run) { return text_cell(run.stack); })});
}

void add_commands(const RegressionIssue& issue, MarkdownPage& page) {
  const analysis::ChangeEvidence& first = issue.changes.front();
  page.heading("How to see it again");
  std::vector<PageRow> rows;
  for (std::size_t i = 0; i < issue.changes.size(); ++i) {
    if (!issue.commands[i].empty()) {
      rows.push_back({text_cell(issue.changes[i].change.series), code_cell(issue.commands[i])});
    }
  }
  rows.push_back(
      {text_cell("both runs"),
       code_cell(fmt::format(
           "plumb compare {} {} --vary stack --vary driver", first.before.id, first.after.id))});
  page.table({text_cell("what"), text_cell("command")}, rows);
}

/// Returns why a fact is suspected.
std::string reason_for(const analysis::OpenChange::Cause& cause,
                       const analysis::ChangeEvidence& evidence) {
  switch (cause.kind) {
    case analysis::OpenChange::Cause::Kind::kCommit:
      return fmt::format(
          "the code differs between the two runs; {} of {} series of the suite "
          "changed there",
          evidence.changed_there,
          evidence.series);
    case analysis::OpenChange::Cause::Kind::kLibrary:
      return "the library that executes the layers is another one";
    case analysis::OpenChange::Cause::Kind::kDriver:
      return "the driver is another one";
    case analysis::OpenChange::Cause::Kind::kMachine:
      return "the machine is not as before; nothing that is measured need have changed";
  }
  return "";
}

void add_suspects(const RegressionIssue& issue, MarkdownPage& page) {
  const analysis::ChangeEvidence& first = issue.changes.front();
  page.heading("Suspects, the likeliest first");
  if (first.change.causes.empty()) {
    page.paragraph(fmt::format(
        "No recorded fact differs between the two runs. {} of {} series of the suite changed "
        "there: the fewer, the likelier it is noise, or one kernel ({}).",
        first.changed_there,
        first.series,
        first.change.family));
    return;
  }
  std::vector<PageRow> rows;
  for (const analysis::OpenChange::Cause& cause : first.change.causes) {
    if (rows.size() == kMaxSuspects) {
      break;
    }
    rows.push_back({number_cell(std::to_string(rows.size() + 1)),
                    text_cell(std::string(to_text(cause.kind))),
                    cause.kind == analysis::OpenChange::Cause::Kind::kCommit
                        ? link_cell(cause_text(cause), issue.commits.address(cause.after))
                        : text_cell(cause_text(cause)),
                    text_cell(reason_for(cause, first))});
  }
  page.table({number_cell(""),
              text_cell("kind"),
              text_cell("what changed"),
              text_cell("why it may be it")},
             rows);
}

void add_commits(const RegressionIssue& issue, MarkdownPage& page) {
  const analysis::ChangeEvidence& first = issue.changes.front();
  const std::string before = results::commit_of(first.before.environment);
  const std::string after = results::commit_of(first.after.environment);
  const bool named =
      results::is_commit_hash(before) && results::is_commit_hash(after) && before != after;
  if (!named && !issue.between) {
    return;
  }
  page.heading("Commits between the two runs");
  if (issue.between) {
    const RegressionIssue::Commits& between = *issue.between;
    page.paragraph(
        !between.problem.empty() ? "They are not known: " + between.problem
        : between.count == 0     ? "None: the older run has every commit of the newer one."
        : between.newest.size() < between.count
            ? fmt::format("The newest {} of {} commits:", between.newest.size(), between.count)
            : fmt::format("{} {}:", between.count, between.count == 1 ? "commit" : "commits"));
    std::vector<PageRow> rows;
    for (const RegressionIssue::Commits::Commit& commit : between.newest) {
      rows.push_back(
          {link_cell(results::short_commit(commit.hash), issue.commits.address(commit.hash)),
           text_cell(commit.subject)});
    }
    if (!rows.empty()) {
      page.table({text_cell("commit"), text_cell("subject")}, rows);
    }
  }
  if (named) {
    page.table(
        {text_cell("what"), text_cell("command")},
        {{text_cell("list"), code_cell(fmt::format("git log --oneline {}..{}", before, after))},
         {text_cell("search"), code_cell(fmt::format("git bisect start {} {}", after, before))}});
  }
}

}  // namespace

std::string history_plot(std::span<const double> seconds, std::size_t mark) {
  if (seconds.empty()) {
    return "";
  }
  // The newest values, but some of the old level too.
  const std::size_t first =
      seconds.size() > kPlotColumns
          ? std::min(seconds.size() - kPlotColumns, mark - std::min(mark, kPlotColumns / 4))
          : 0;
  const std::span<const double> shown =
      seconds.subspan(first, std::min(kPlotColumns, seconds.size() - first));
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  const double step = *high > *low ? (*high - *low) / static_cast<double>(kPlotRows - 1) : 0.0;
  std::vector<std::string> rows(step > 0.0 ? kPlotRows : 1, std::string(shown.size(), ' '));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::size_t level =
        step > 0.0 ? static_cast<std::size_t>((shown[i] - *low) / step + 0.5) : 0;
    rows[rows.size() - 1 - std::min(level, rows.size() - 1)][i] = i + first < mark ? 'o' : '#';
  }
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double value = *high - step * static_cast<double>(row);
    while (rows[row].ends_with(' ')) {
      rows[row].pop_back();
    }
    text += fmt::format("{:>10} |{}{}\n",
                        row == 0 || row + 1 == rows.size() ? time_text(Seconds(value)) : "",
                        rows[row].empty() ? "" : " ",
                        rows[row]);
  }
  return text + fmt::format("{:>10} + {} to {} of {} runs; o before, # after\n",
                            "",
                            first + 1,
                            first + shown.size(),
                            seconds.size());
}

void write_issue(const RegressionIssue& issue, std::ostream& out) {
  PLUMB_CHECK(!issue.changes.empty() && issue.changes.size() == issue.commands.size());
  const analysis::ChangeEvidence& first = issue.changes.front();
  const analysis::SeriesChange& change = first.change.change;
  MarkdownPage page(fmt::format(
      "{} {} since {}{}",
      first.change.series,
      change_text(change.after / change.before),
      to_text(first.change.started).substr(0, 10),
      issue.changes.size() > 1 ? fmt::format(", and {} more", issue.changes.size() - 1) : ""));
  add_change(issue, page);
  page.heading("History");
  page.preformatted(history_plot(first.seconds, change.index));
  add_commands(issue, page);
  add_suspects(issue, page);
  add_commits(issue, page);
  page.write(out);
}

}  // namespace plumb::reporting
