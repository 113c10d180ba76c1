// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_profile.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MarkdownReport, lists_every_model_with_its_bounds) {
  const std::string text = written(sample_report(), ".md");
  EXPECT_THAT(text, HasSubstr("## Plumbline: sample\n"));
  EXPECT_THAT(
      text,
      HasSubstr("| tiny, batch 1, f32 | 4 of 4 | 250.0 µs | 3.500 ms | 3.500 ms | 3.500 ms | "
                "4.000 ms | – | 5.000 ms | 14.00× |\n"));
  EXPECT_THAT(
      text,
      HasSubstr("| best\\_variant | 700.0 µs | 558.6 µs … 841.4 µs | 3.500 ms ± 2.9 % | 2.800 ms ± "
                "3.6 % | 1.25× | 5.000 ms ± 2.0 % | 4.500 ms ± 2.2 % | 1.11× | 4.0 % | 0.0 … 8.0 % "
                "| same | – |\n"));
  EXPECT_THAT(text, HasSubstr("\nbest\\_variant: pick the fastest\n"));
}

TEST(MarkdownReport, names_the_labels_and_links_the_commit) {
  analysis::RunReport report = sample_report();
  report.run.header.environment.facts["label.commit"] = "4f2a9c01d3b7e8f0";
  report.run.header.environment.facts["label.branch"] = "fix_[a](b)";
  EXPECT_THAT(written(report, ".md"), HasSubstr(" | fix\\_\\[a\\](b) | 4f2a9c01d3b7 |\n"));
  report.commits = results::CommitLink("https://example.org/{commit}");
  EXPECT_THAT(written(report, ".md"),
              HasSubstr(" | [4f2a9c01d3b7](https://example.org/4f2a9c01d3b7e8f0) |\n"));
}

TEST(MarkdownReport, writes_a_dash_for_what_is_not_known) {
  analysis::RunReport report = sample_report();
  report.models[0].bounds.bounds.erase(report.models[0].bounds.bounds.begin());
  const std::string text = written(report, ".md");
  EXPECT_THAT(text, HasSubstr("| 4 of 4 | – | 3.500 ms |"));
  EXPECT_THAT(text, HasSubstr("- bf16: not predicted: no bf16 rows in this run\n"));
  EXPECT_THAT(text, Not(HasSubstr("| bf16 |")));
}

TEST(MarkdownReport, says_how_many_layers_are_measured) {
  const std::string text = written(hostile_report(), ".md");
  EXPECT_THAT(text, HasSubstr("| 2 of 4 | 250.0 µs (incomplete) |"));
}

TEST(MarkdownReport, writes_no_zero_where_no_layer_is_measured) {
  analysis::RunReport report = hostile_report();
  for (analysis::Bound& bound : report.models[0].bounds.bounds) {
    bound.seconds = Seconds(0);
  }
  EXPECT_THAT(written(report, ".md"), HasSubstr("| 2 of 4 | – | – | – | – | – |"));
}

TEST(MarkdownReport, lists_the_hottest_function) {
  analysis::RunReport report = sample_report();
  EXPECT_THAT(written(report, ".md"), Not(HasSubstr("Hottest function")));
  report.models[0].profile = test::stored_profile("01J").profile;
  report.models[0].profile->listings[0].instructions[0].text = "evil ```";
  const std::string text = written(report, ".md");
  EXPECT_THAT(text, HasSubstr("\nHottest function: jit\\_brgemm\\_kernel\\_t, generated, most in"));
  EXPECT_THAT(text, HasSubstr("- approximate: a sample may lie"));
  EXPECT_THAT(text, HasSubstr("```text\n share       95 %  samples  offset  instruction\n"));
  EXPECT_THAT(text, HasSubstr("11.8 %   8.8–15.6       40       4  evil \x27\x27\x27\n"));
  EXPECT_THAT(text, HasSubstr("88.2 %  84.4–91.2      300       8  vmulps       ymm0, ymm1\n"));
  report.models[0].profile->listings.clear();
  EXPECT_THAT(written(report, ".md"), HasSubstr("No instructions are kept of this profile"));
}

TEST(MarkdownReport, lets_no_name_out_of_its_cell) {
  const std::string text = written(hostile_report(), ".md");
  EXPECT_TRUE(is_clean_utf8(text));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xa8")));
  EXPECT_THAT(text, Not(HasSubstr("[x](y)")));
  EXPECT_THAT(text, HasSubstr("&lt;/script&gt;"));
  EXPECT_THAT(text, Not(HasSubstr("@all"))) << "must not notify anyone";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("| &lt;/script")) {
      std::size_t bars = 0;
      for (std::size_t i = 0; i < line.size(); ++i) {
        bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1U : 0U;
      }
      EXPECT_TRUE(bars == 11U || bars == 4U) << line;
    }
  }
}

TEST(MarkdownReport, stays_below_the_limit_of_a_comment) {
  analysis::RunReport report = sample_report();
  report.models.resize(400, report.models.front());
  const std::string sections = written(report, ".md");
  EXPECT_LT(sections.size(), 60'000U);
  EXPECT_THAT(sections, HasSubstr(" parts do not fit a comment"));
  report.models.resize(3000, report.models.front());
  const std::string rows = written(report, ".md");
  EXPECT_LT(rows.size(), 60'000U);
  EXPECT_THAT(rows, HasSubstr("more: the HTML report has them"));
  report = hostile_report();
  report.models[0].bounds.unsupported.resize(5000, report.models[0].bounds.unsupported.front());
  report.models[0].bounds.findings.resize(5000, report.models[0].bounds.findings.front());
  const std::string findings = written(report, ".md");
  EXPECT_LT(findings.size(), 60'000U);
  EXPECT_THAT(findings, HasSubstr("- and 4980 more"));
  EXPECT_THAT(findings, HasSubstr("\nand 4975 more: the HTML report has them\n"));
  EXPECT_THAT(findings, HasSubstr("| what if |"));
}

TEST(MarkdownReport, is_the_same_bytes_for_the_same_value) {
  EXPECT_EQ(written(hostile_report(), ".md"), written(hostile_report(), ".md"));
}

}  // namespace
}  // namespace plumb::reporting
