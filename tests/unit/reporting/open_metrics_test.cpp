// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <sstream>

#include "harness/base/error.hpp"
#include "reporting/prometheus/metric_families.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

const Timestamp kStart = parse_timestamp("2026-01-01T00:00:00Z");

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.find(part) != std::string::npos) {
      lines.push_back(line);
    }
  }
  return lines;
}

std::string written_history(OpenMetricsHistory& history,
                            std::optional<std::chrono::microseconds> step = {}) {
  std::ostringstream out;
  history.write(out, step);
  return out.str();
}

const std::string kMedian = "stat=\"median\"";

TEST(OpenMetricsHistory, every_run_is_a_sample_in_order_of_time) {
  const std::vector<SuiteMetrics> state{suite_of(sample_report())};
  OpenMetricsHistory history;
  history.add(state, kStart + std::chrono::hours(2), kStart + std::chrono::hours(3));
  history.add(state, kStart, kStart + std::chrono::hours(2));
  const std::string text = written_history(history);
  EXPECT_THAT(lines_with(text, kMedian),
              ElementsAre(EndsWith("} 0.005 1767225600.000"), EndsWith("} 0.005 1767232800.000")));
  EXPECT_THAT(text, EndsWith("\n# EOF\n"));
  EXPECT_THAT(lines_with(text, "# TYPE plumb_model_latency_seconds gauge"), SizeIs(1));
}

TEST(OpenMetricsHistory, a_step_repeats_a_value_until_the_next) {
  analysis::RunReport faster = sample_report();
  faster.models[0].bounds.executions[0].median = Seconds(0.004);
  const std::vector<SuiteMetrics> before{suite_of(sample_report())};
  const std::vector<SuiteMetrics> after{suite_of(faster)};
  OpenMetricsHistory history;
  history.add(before, kStart, kStart + std::chrono::hours(9));
  history.add(after, kStart + std::chrono::minutes(10), kStart + std::chrono::minutes(20));
  EXPECT_THAT(lines_with(written_history(history, std::chrono::minutes(5)), kMedian),
              ElementsAre(EndsWith("} 0.005 1767225600.000"),
                          EndsWith("} 0.005 1767225900.000"),
                          EndsWith("} 0.004 1767226200.000"),
                          EndsWith("} 0.004 1767226500.000")));
}

TEST(OpenMetricsHistory, a_series_has_one_value_at_a_time) {
  const std::vector<SuiteMetrics> state{suite_of(sample_report())};
  OpenMetricsHistory history;
  history.add(state, kStart, kStart);
  history.add(state, kStart, kStart);
  EXPECT_THAT(lines_with(written_history(history), kMedian), SizeIs(1));
}

TEST(OpenMetricsHistory, hostile_names_are_escaped) {
  const std::vector<SuiteMetrics> state{suite_of(hostile_report())};
  OpenMetricsHistory history;
  history.add(state, kStart, kStart);
  const std::string text = written_history(history);
  EXPECT_TRUE(is_clean_utf8(text));
  EXPECT_THAT(lines_with(text, R"(\\@all)"), testing::Not(testing::IsEmpty()));
  for (const std::string& line : lines_with(text, "")) {
    EXPECT_TRUE(line.starts_with("# ") || line.starts_with("plumb_")) << line;
  }
}

TEST(OpenMetricsHistory, common_labels_stand_in_every_series) {
  const std::vector<SuiteMetrics> state{suite_of(sample_report())};
  OpenMetricsHistory history(MetricLabels{{"job", "plumb"}, {"instance", "a\"b"}});
  history.add(state, kStart, kStart);
  for (const std::string& line : lines_with(written_history(history), " 1767225600.000")) {
    EXPECT_THAT(line, testing::HasSubstr(R"({job="plumb",instance="a\"b",)"));
  }
}

TEST(OpenMetricsHistory, refuses_a_label_that_a_series_has) {
  const std::vector<SuiteMetrics> state{suite_of(sample_report())};
  OpenMetricsHistory history(MetricLabels{{"stack", "other"}});
  EXPECT_THROW(history.add(state, kStart, kStart), Error);
}

TEST(OpenMetricsHistory, nothing_is_an_empty_document) {
  OpenMetricsHistory history;
  EXPECT_EQ(written_history(history), "# EOF\n");
}

}  // namespace
}  // namespace plumb::reporting
