// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

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

/// Returns what a tile shows: its text, then its style.
std::string tile_of(const nlohmann::json& data, const std::string& label) {
  for (const nlohmann::json& tile : data["tiles"]) {
    if (tile["label"].get<std::string>() == label) {
      return tile["text"].get<std::string>() + ", " + tile["tone"].get<std::string>();
    }
  }
  return "no tile";
}

/// Returns the steps of colour of a panel of Grafana's overview.
nlohmann::json grafana_steps(const std::string& title) {
  std::ifstream file(PLUMB_GRAFANA_OVERVIEW);
  const nlohmann::json overview = nlohmann::json::parse(file);
  for (const nlohmann::json& panel : overview["panels"]) {
    if (panel["type"] == "stat" && panel["title"] == title) {
      return panel["fieldConfig"]["defaults"]["thresholds"]["steps"];
    }
  }
  return {};
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

TEST(Dashboard, counts_a_model_once_in_each_state) {
  using State = analysis::ModelRegression::State;
  analysis::RunReport other = sample_report();
  other.run.header.stack = "other";
  Dashboard dashboard = dashboard_of_runs({sample_report(), other});
  for (SuiteMetrics& suite : dashboard.points) {
    const analysis::ModelInstance instance = suite.newest->models[0].instance;
    suite.regressions = {{instance, "latency", "plain", State::kRegressed, 1.1},
                         {instance, "latency", "fusion", State::kRegressed, 1.2},
                         {instance, "bound_library", "plain", State::kSuspected, 1.1},
                         {instance, "bound_library", "fusion", State::kEquivalent, 1.0}};
  }
  dashboard.points[1].regressions[2].state = State::kRegressed;
  const nlohmann::json data = shown(dashboard);
  EXPECT_EQ(tile_of(data, "regressed"), "2, bad");
  EXPECT_EQ(tile_of(data, "capability lost"), "1, warn");
  EXPECT_EQ(tile_of(data, "suspected"), "0, calm");
  EXPECT_EQ(tile_of(data, "broken"), "0, calm");
  const nlohmann::json& states = data["models"][0]["states"];
  ASSERT_EQ(states.size(), 4U);
  EXPECT_EQ(states[0]["tone"], "bad");
  EXPECT_EQ(states[3]["tone"], nullptr);
}

TEST(Dashboard, colours_the_mean_ratio_by_its_limits) {
  analysis::RunReport report = sample_report();
  const double bound =
      shown(dashboard_of_runs({report}))["models"][0]["points"][0]["library_seconds"].get<double>();
  for (const auto& [ratio, text] : std::vector<std::pair<double, std::string>>{
           {0.81, "81 %, good"}, {0.79, "79 %, warn"}, {0.51, "51 %, warn"}, {0.49, "49 %, bad"}}) {
    report.models[0].bounds.executions[0].median = Seconds(bound / ratio);
    EXPECT_EQ(tile_of(shown(dashboard_of_runs({report})), "bound ÷ end to end"), text);
  }
  report.models[0].bounds.executions.clear();
  EXPECT_EQ(tile_of(shown(dashboard_of_runs({report})), "bound ÷ end to end"), "–, calm");
}

TEST(Dashboard, has_the_age_of_the_suite_that_waited_longest) {
  Dashboard dashboard = dashboard_of_runs({sample_report()});
  EXPECT_EQ(tile_of(shown(dashboard), "oldest suite"), "60 min, calm");
  analysis::RunReport later = sample_report();
  later.run.header.stack = "later";
  *later.run.finished += std::chrono::hours(36);
  dashboard.present.push_back(suite_of(later));
  dashboard.now += std::chrono::hours(36);
  EXPECT_EQ(tile_of(shown(dashboard), "oldest suite"), "37 h, warn");
  dashboard.now -= std::chrono::hours(72);
  EXPECT_EQ(tile_of(shown(dashboard), "oldest suite"), "–, calm");
}

TEST(Dashboard, has_the_limits_of_grafana) {
  const nlohmann::json ratios = grafana_steps("Bound ÷ end to end");
  ASSERT_EQ(ratios.size(), 3U);
  EXPECT_EQ(ratios[1]["value"], Dashboard::kFarFromBound);
  EXPECT_EQ(ratios[2]["value"], Dashboard::kNearBound);
  const nlohmann::json ages = grafana_steps("Oldest suite");
  ASSERT_GE(ages.size(), 2U);
  EXPECT_EQ(ages[1]["value"], Dashboard::kOldSuite.count());
}

TEST(Dashboard, marks_where_the_library_changed) {
  std::vector<analysis::RunReport> reports;
  for (const char* const version : {"1", "1", "2", "", "2"}) {
    analysis::RunReport report = sample_report();
    report.run.header.environment.facts["library.version"] = version;
    report.run.header.environment.identity.erase("library");
    reports.push_back(std::move(report));
  }
  std::vector<bool> changed;
  const nlohmann::json data = shown(dashboard_of_runs(std::move(reports)));
  for (const nlohmann::json& point : data["models"][0]["points"]) {
    changed.push_back(point["library_changed"].get<bool>());
  }
  // After a run that does not know its library, the next that does counts as another.
  EXPECT_EQ(changed, (std::vector<bool>{false, false, true, false, true}));
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
