// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <sstream>

#include "reporting/content/review/triage_documents.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

analysis::ChangeEvidence evidence(const std::string& series) {
  analysis::ChangeEvidence result;
  result.change.history.suite = "nightly";
  result.change.history.stack = "default";
  result.change.series = series;
  result.change.change = {.index = 4,
                          .run = "01JFKD2M4N5P6Q7R8S9T0VWXYB",
                          .run_before = "01JFKD2M4N5P6Q7R8S9T0VWXYA",
                          .before = 1e-3,
                          .after = 1.25e-3,
                          .confidence = 0.9991,
                          .state = analysis::SeriesChange::State::kDetected,
                          .reason = "",
                          .assignee = "ann",
                          .notes = {{"ben", "looks real"}}};
  result.change.started = parse_timestamp("2026-11-21T10:00:00Z");
  result.change.family = "conv jit";
  result.change.causes = {
      {analysis::OpenChange::Cause::Kind::kCommit,
       "label.commit",
       "91bc07aa51e2c1d6",
       "4f2a9c01d3b7e8f0"},
      {analysis::OpenChange::Cause::Kind::kLibrary, "library.version", "3.1", "3.2"}};
  result.before.id = result.change.change.run_before;
  result.after.id = result.change.change.run;
  result.before.suite = result.after.suite = "nightly";
  result.before.stack = result.after.stack = "default";
  result.before.environment.facts = {{"label.commit", "91bc07aa51e2c1d6"}};
  result.after.environment.facts = {{"label.commit", "4f2a9c01d3b7e8f0"}};
  result.before.started = parse_timestamp("2026-11-20T10:00:00Z");
  result.after.started = result.change.started;
  result.seconds = {1e-3, 1.01e-3, 0.99e-3, 1e-3, 1.25e-3, 1.24e-3};
  result.changed_there = 2;
  result.series = 40;
  return result;
}

std::string issue_text(const RegressionIssue& issue) {
  std::ostringstream out;
  write_issue(issue, out);
  return out.str();
}

TEST(RegressionIssue, has_history_reproducer_and_suspects) {
  const std::string text =
      issue_text({{evidence("layers/v1:conv;x")}, {"plumb layer 'v1:conv;x'"}, {}});
  EXPECT_THAT(text, HasSubstr("## layers/v1:conv;x +25.00 % since 2026-11-21\n"));
  EXPECT_THAT(
      text, HasSubstr("| layers/v1:conv;x | 1.000 ms | 1.250 ms | +25.00 % | 0.9991 | detected |"));
  EXPECT_THAT(text, HasSubstr("| commit | 91bc07aa51e2 | 4f2a9c01d3b7 |"));
  EXPECT_THAT(text, HasSubstr("| layers/v1:conv;x | ``plumb layer 'v1:conv;x'`` |"));
  EXPECT_THAT(text,
              HasSubstr("| 1 | commit | commit 91bc07aa51e2 → 4f2a9c01d3b7 | the code differs "
                        "between the two runs; 2 of 40 series of the suite changed there |\n"
                        "| 2 | library | library.version 3.1 → 3.2 |"));
  EXPECT_THAT(text, HasSubstr("``git log --oneline 91bc07aa51e2c1d6..4f2a9c01d3b7e8f0``"));
}

TEST(RegressionIssue, lists_the_commits_of_a_repository) {
  RegressionIssue issue{
      {evidence("layers/v1:conv;x")},
      {""},
      results::CommitLink("https://example.org/{commit}"),
      RegressionIssue::Commits{
          .count = 31,
          .newest = {{"4f2a9c01d3b7e8f0", "use the fast path"}, {"3e1b8c00c2a6d7ef", kHostileName}},
          .problem = ""}};
  std::string text = issue_text(issue);
  EXPECT_THAT(text, HasSubstr("### Commits between the two runs\n\nThe newest 2 of 31 commits:\n"));
  EXPECT_THAT(
      text,
      HasSubstr("| [4f2a9c01d3b7](https://example.org/4f2a9c01d3b7e8f0) | use the fast path |"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("[x](y)")));
  EXPECT_TRUE(is_clean_utf8(text));
  issue.between =
      RegressionIssue::Commits{.count = 0, .newest = {}, .problem = "no commit '4f2a9c0'"};
  text = issue_text(issue);
  EXPECT_THAT(text, HasSubstr("They are not known: no commit '4f2a9c0'\n"));
  EXPECT_THAT(text, Not(HasSubstr("| commit | subject |")));
  EXPECT_THAT(text, HasSubstr("git log --oneline"));
}

TEST(RegressionIssue, draws_the_history_in_a_fenced_block) {
  const std::string text = issue_text({{evidence("layers/v1:conv;x")}, {""}, {}});
  EXPECT_THAT(text, HasSubstr("### History\n\n```text\n"));
  EXPECT_THAT(text, HasSubstr("of 6 runs; o before, # after\n```\n"));
}

TEST(RegressionIssue, lets_no_name_out_of_its_cell) {
  analysis::ChangeEvidence evil = evidence(kHostileName);
  evil.change.causes[0].after = evil.change.causes[1].after = kHostileName;
  evil.after.environment.facts["label.commit"] = "--output=/etc/passwd";
  evil.before.suite = kHostileName;
  const std::string text =
      issue_text({{evil}, {""}, results::CommitLink("https://example.org/{commit}")});
  EXPECT_TRUE(is_clean_utf8(text));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("[x](y)")));
  EXPECT_THAT(text, Not(HasSubstr("@all")));
  EXPECT_THAT(text, Not(HasSubstr("git log")));
}

TEST(HistoryPlot, draws_both_levels_and_marks_the_new_one) {
  EXPECT_EQ(history_plot(std::vector<double>{1e-3, 1e-3, 2e-3, 2e-3}, 2),
            "  2.000 ms |   ##\n"
            "           |\n           |\n           |\n           |\n"
            "           |\n           |\n           |\n           |\n"
            "  1.000 ms | oo\n"
            "           + 1 to 4 of 4 runs; o before, # after\n");
  EXPECT_EQ(history_plot({}, 0), "");
  EXPECT_THAT(history_plot(std::vector<double>{1.0, 1.0}, 1), HasSubstr("1.000 s | o#\n"));
}

TEST(HistoryPlot, stays_small_wherever_the_change_is) {
  const std::vector<double> many(500, 1e-3);
  for (std::size_t mark = 0; mark <= many.size(); mark += 25) {
    const std::string plot = history_plot(many, mark);
    EXPECT_LT(plot.size(), 1500U) << mark;
    EXPECT_THAT(plot, HasSubstr(" of 500 runs")) << mark;
  }
}

TEST(Triage, lists_groups_with_their_cause) {
  const std::vector<analysis::OpenChange::Group> groups =
      analysis::group_changes({evidence("layers/v1:conv;x").change});
  std::ostringstream text;
  write_triage(groups,
               results::CommitLink("https://example.org/{commit}"),
               OutputMode::kText,
               Detail::kShort,
               text);
  EXPECT_EQ(text.str(),
            "1 open change, 1 likely cause\n"
            "\n"
            "commit 91bc07aa51e2 → 4f2a9c01d3b7: 1 change (conv jit)\n"
            "  https://example.org/4f2a9c01d3b7e8f0\n"
            "  also changed: library.version 3.1 → 3.2\n"
            "series              before     after    change  state     for  suite    stack\n"
            "layers/v1:conv;x  1.000 ms  1.250 ms  +25.00 %  detected  ann  nightly  default\n"
            "  ben: looks real (layers/v1:conv;x)\n"
            "decide\n"
            "  $ plumb triage accept @01JFKD2M4N5P6Q7R8S9T0VWXYB --reason TEXT\n");
  text.str("");
  write_triage({}, {}, OutputMode::kText, Detail::kShort, text);
  EXPECT_EQ(text.str(), "no open changes\n");
}

TEST(TriagePage, has_a_form_only_where_there_is_a_token) {
  const std::vector<analysis::OpenChange::Group> groups =
      analysis::group_changes({evidence("layers/<b>\"x").change});
  for (const bool decidable : {false, true}) {
    std::ostringstream out;
    write_triage_page(groups, results::CommitLink("https://example.org/{commit}"), decidable, out);
    const std::string page = out.str();
    EXPECT_EQ(page.find("<form") != std::string::npos, decidable);
    EXPECT_EQ(page.find("<script src=\"/triage.js\">") != std::string::npos, decidable);
    EXPECT_EQ(page.find("script-src 'self'") != std::string::npos, decidable);
    EXPECT_THAT(page, Not(HasSubstr("<b>")));
    EXPECT_THAT(page, HasSubstr("ben: looks real"));
    EXPECT_THAT(page, HasSubstr("<a href=\"https://example.org/4f2a9c01d3b7e8f0\">4f2a9c01d3b7"));
    EXPECT_THAT(page, HasSubstr("<a href=\"/runs/01JFKD2M4N5P6Q7R8S9T0VWXYB\">2026-11-21"));
    EXPECT_THAT(page, HasSubstr("also changed: library.version 3.1 → 3.2"));
  }
}

}  // namespace
}  // namespace plumb::reporting
