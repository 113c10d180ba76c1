// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/review/regression_issue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/base/error.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/review/triage_documents.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/markdown_page.hpp"

namespace plumb::reporting {
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
std::string reason_for(const analysis::PossibleCause& cause,
                       const analysis::ChangeEvidence& evidence) {
  switch (cause.kind) {
    case analysis::CauseKind::kCommit:
      return fmt::format(
          "the code differs between the two runs; {} of {} series of the suite "
          "changed there",
          evidence.changed_there,
          evidence.series);
    case analysis::CauseKind::kLibrary:
      return "the library that executes the layers is another one";
    case analysis::CauseKind::kDriver:
      return "the driver is another one";
    case analysis::CauseKind::kMachine:
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
  for (const analysis::PossibleCause& cause : first.change.causes) {
    if (rows.size() == kMaxSuspects) {
      break;
    }
    rows.push_back({number_cell(std::to_string(rows.size() + 1)),
                    text_cell(std::string(to_text(cause.kind))),
                    cause.kind == analysis::CauseKind::kCommit
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
    const SuspectCommits& between = *issue.between;
    page.paragraph(
        !between.problem.empty() ? "They are not known: " + between.problem
        : between.count == 0     ? "None: the older run has every commit of the newer one."
        : between.newest.size() < between.count
            ? fmt::format("The newest {} of {} commits:", between.newest.size(), between.count)
            : fmt::format("{} {}:", between.count, between.count == 1 ? "commit" : "commits"));
    std::vector<PageRow> rows;
    for (const SuspectCommits::Commit& commit : between.newest) {
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
