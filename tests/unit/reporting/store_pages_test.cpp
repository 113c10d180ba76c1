// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/store/store_pages.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "reporting/content/comparison/comparison_report.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string overview(const analysis::RunReport& report, bool up = true) {
  const std::vector<results::RunRecord> runs{report.run};
  const std::vector<SuiteMetrics> suites{suite_of(report)};
  std::ostringstream out;
  write_overview_page(runs, suites, up, results::CommitLink("https://example.org/{commit}"), out);
  return out.str();
}

TEST(StorePages, the_overview_has_models_with_their_bounds_and_runs_with_their_reports) {
  const std::string page = overview(sample_report());
  EXPECT_THAT(page, HasSubstr("<a href=\"/models/tiny\">tiny, batch 1, f32</a>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">5.000 ms</td>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"/runs/01JFKD2M4N5P6Q7R8S9T0VWXYZ\">"));
  EXPECT_THAT(page, HasSubstr("name=\"cand\" value=\"01JFKD2M4N5P6Q7R8S9T0VWXYZ\" checked"));
  EXPECT_THAT(page, Not(HasSubstr("cannot be read")));
  EXPECT_THAT(overview(sample_report(), false), HasSubstr("cannot be read"));
}

TEST(StorePages, commits_are_links_and_other_labels_are_text) {
  analysis::RunReport report = sample_report();
  report.run.header.environment.facts["label.commit"] = "4f2a9c01d3b7e8f0\"><b>";
  report.run.header.environment.facts["label.branch"] = "<b>main";
  const std::string page = overview(report);
  EXPECT_THAT(page,
              HasSubstr("<td><a href=\"https://example.org/4f2a9c01d3b7e8f0%22%3E%3Cb%3E\">"
                        "4f2a9c01d3b7</a></td><td>branch=&lt;b&gt;main</td>"));
  analysis::ComparisonReport compared;
  compared.baseline = compared.candidate = report.run;
  compared.baseline.header.environment.facts.erase("label.commit");
  compared.commits = results::CommitLink("https://example.org/{commit}");
  std::ostringstream comparison;
  write_comparison_page(compared, PagePlace::kServer, comparison);
  EXPECT_THAT(comparison.str(),
              HasSubstr("<td>commit</td><td>–</td><td><a href=\"https://example.org/4f2a9c01"));
}

TEST(StorePages, hostile_names_are_text_and_whole_addresses) {
  const analysis::RunReport report = hostile_report();
  const std::vector<SuiteMetrics> suites{suite_of(report)};
  std::ostringstream model;
  EXPECT_TRUE(write_model_page(kHostileName, suites, model));
  analysis::ComparisonReport compared;
  compared.baseline = compared.candidate = report.run;
  compared.environment_diff = {{kHostileName, kHostileName, kHostileName, true}};
  analysis::MetricComparison metric;
  metric.series = metric.reason = kHostileName;
  metric.causes = {{kHostileName, 1.0, kHostileName}};
  compared.comparison.metrics = {metric};
  std::ostringstream comparison;
  write_comparison_page(compared, PagePlace::kServer, comparison);
  std::ostringstream message;
  write_message_page(kHostileName, kHostileName, message);
  for (const std::string& page : {overview(report), model.str(), comparison.str(), message.str()}) {
    EXPECT_TRUE(is_clean_utf8(page));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, HasSubstr("&lt;/script&gt;"));
    EXPECT_THAT(page, Not(HasSubstr("@@DATA@@\"'")));
  }
  EXPECT_THAT(overview(report), HasSubstr("href=\"/models/%3C%2Fscript%3E"));
}

TEST(StorePages, what_is_not_known_is_a_dash) {
  analysis::RunReport report = sample_report();
  for (analysis::Bound& bound : report.models[0].bounds.bounds) {
    bound.complete = false;
  }
  report.models[0].bounds.executions.clear();
  const std::vector<SuiteMetrics> suites{suite_of(report)};
  std::ostringstream out;
  write_model_page("tiny", suites, out);
  EXPECT_THAT(out.str(), HasSubstr("<td class=\"number\">–</td><td>incomplete</td>"));
  EXPECT_THAT(overview(report), HasSubstr("<td class=\"number\">–</td><td>–</td>"));
}

TEST(StorePages, what_a_suite_excludes_is_listed_with_its_reason_and_last_day) {
  analysis::RunReport report = sample_report();
  report.exclusions = {{"tiny|1|f32", "slow since the new kernel", "ann", "2026-03-31"},
                       {kHostileName, kHostileName, "", "2026-03-31"},
                       {"over|*", "long gone", "", "2025-12-31"}};
  const std::string page = overview(report);
  EXPECT_THAT(page, HasSubstr("<h2>Excluded by the suites</h2>"));
  EXPECT_THAT(page,
              HasSubstr("<td><code>tiny|1|f32</code></td><td>slow since the new "
                        "kernel</td><td>ann</td><td>2026-03-31</td>"));
  EXPECT_THAT(page, HasSubstr("<td>excluded until 2026-03-31</td>"));
  EXPECT_THAT(page, Not(HasSubstr("long gone"))) << "it no longer excludes anything";
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  const std::vector<SuiteMetrics> suites{suite_of(report)};
  std::ostringstream out;
  ASSERT_TRUE(write_model_page("tiny", suites, out));
  EXPECT_THAT(out.str(), HasSubstr("Excluded by the suite: tiny|1|f32: slow since the new kernel"));
  EXPECT_THAT(overview(sample_report()), Not(HasSubstr("Excluded")));
}

TEST(StorePages, an_unknown_model_has_no_page) {
  std::ostringstream out;
  EXPECT_FALSE(write_model_page("nothing", {}, out));
  EXPECT_TRUE(out.str().empty());
}

}  // namespace
}  // namespace plumb::reporting
