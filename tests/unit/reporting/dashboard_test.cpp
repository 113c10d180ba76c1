// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reporting/content/store/store_pages.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const Dashboard& dashboard) {
  std::ostringstream out;
  write_dashboard(dashboard, out);
  return out.str();
}

nlohmann::json shown(const Dashboard& dashboard) {
  return nlohmann::json::parse(data_of(page_of(dashboard)));
}

/// Makes the dashboard of one series of as many runs as there are reports.
Dashboard dashboard_of_runs(std::vector<analysis::RunReport> reports) {
  Dashboard dashboard;
  for (analysis::RunReport& report : reports) {
    dashboard.now = *report.run.finished + std::chrono::hours(1);
    dashboard.points.push_back(suite_of(std::move(report)));
  }
  dashboard.present = {dashboard.points.back()};
  return dashboard;
}

TEST(Dashboard, names_the_commit_of_each_run) {
  analysis::RunReport labelled = sample_report();
  labelled.run.header.environment.facts["label.commit"] = "4f2a";
  Dashboard dashboard = dashboard_of_runs({sample_report(), labelled});
  dashboard.commits = results::CommitLink("https://example.org/{commit}");
  const nlohmann::json data = shown(dashboard);
  const nlohmann::json commit{{"name", "4f2a"}, {"url", "https://example.org/4f2a"}};
  EXPECT_EQ(data["models"][0]["points"][0]["commit"], nullptr);
  EXPECT_EQ(data["models"][0]["points"][1]["commit"], commit);
  EXPECT_EQ(data["suites"][0]["commit"], commit);
  dashboard.commits = {};
  EXPECT_EQ(shown(dashboard)["suites"][0]["commit"]["url"], nullptr);
}

TEST(Dashboard, follows_a_model_over_its_runs) {
  analysis::RunReport later = sample_report();
  later.run.header.started += std::chrono::hours(24);
  *later.run.finished += std::chrono::hours(24);
  later.models[0].bounds.executions[0].median = Seconds(0.004);
  Dashboard dashboard = dashboard_of_runs({sample_report(), later});
  analysis::ModelRegression regression;
  regression.instance = later.models[0].bounds.instance;
  regression.metric = "latency";
  regression.mode = "plain";
  regression.state = analysis::ModelRegression::State::kImproved;
  regression.ratio = 0.8;
  dashboard.points.back().regressions = {regression};
  const auto data = shown(dashboard);
  ASSERT_EQ(data["models"].size(), 1U);
  const auto& model = data["models"][0];
  EXPECT_EQ(model["model"], "tiny");
  ASSERT_EQ(model["points"].size(), 2U);
  EXPECT_EQ(model["points"][0]["seconds"], 0.005);
  EXPECT_EQ(model["points"][1]["seconds"], 0.004);
  EXPECT_LT(model["points"][0]["ratio"], model["points"][1]["ratio"]);
  EXPECT_EQ(model["states"][0]["state"], "improved");
  EXPECT_EQ(model["states"][0]["ratio"], 0.8);
  EXPECT_EQ(data["suites"][0]["age_seconds"], 3600.0);
}

TEST(Dashboard, keeps_stacks_apart) {
  analysis::RunReport other = sample_report();
  other.run.header.stack = "other";
  EXPECT_EQ(shown(dashboard_of_runs({sample_report(), other}))["models"].size(), 2U);
}

TEST(Dashboard, shows_bounds_of_a_model_that_was_not_executed) {
  analysis::RunReport report = sample_report();
  report.models[0].bounds.executions.clear();
  const auto point = shown(dashboard_of_runs({report}))["models"][0]["points"][0];
  EXPECT_TRUE(point["seconds"].is_null());
  EXPECT_TRUE(point["ratio"].is_null());
  EXPECT_GT(point["hardware_seconds"], 0.0);
}

TEST(Dashboard, shows_what_is_not_known_as_null) {
  const auto data = shown(dashboard_of_runs({hostile_report()}));
  const auto& point = data["models"][0]["points"][0];
  EXPECT_TRUE(point["ratio"].is_null());
  EXPECT_TRUE(point["library_seconds"].is_null());
  EXPECT_TRUE(data["suites"][0]["environment_changed"].is_null());
}

TEST(Dashboard, lets_no_name_out_of_the_data) {
  const std::string page = page_of(dashboard_of_runs({hostile_report()}));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(data_of(page).find_first_of("<>&\n\x1b"), std::string::npos);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Dashboard, lists_what_the_suites_exclude) {
  analysis::RunReport report = sample_report();
  report.exclusions = {{"tiny|*", "slow since the new kernel", "ann", "2999-03-31"}};
  const auto excluded = shown(dashboard_of_runs({report}))["exclusions"];
  ASSERT_EQ(excluded.size(), 1U);
  EXPECT_EQ(excluded[0]["case"], "tiny|*");
  EXPECT_EQ(excluded[0]["reason"], "slow since the new kernel");
  EXPECT_EQ(excluded[0]["expires"], "2999-03-31");
  EXPECT_TRUE(shown({})["exclusions"].empty());
}

TEST(Dashboard, of_no_runs_says_so) {
  const auto data = shown({});
  EXPECT_TRUE(data["models"].empty());
  EXPECT_TRUE(data["first"].is_null());
}

}  // namespace
}  // namespace plumb::reporting
