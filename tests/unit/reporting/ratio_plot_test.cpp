// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/ratio_plot.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <vector>

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<analysis::MetricComparison> metrics_of(const std::vector<double>& ratios) {
  std::vector<analysis::MetricComparison> metrics;
  for (const double ratio : ratios) {
    analysis::MetricComparison& metric = metrics.emplace_back();
    metric.ratio = ratio;
    metric.low = ratio * 0.995;
    metric.high = ratio * 1.005;
  }
  return metrics;
}

RatioPlot plot_of(const std::vector<analysis::MetricComparison>& metrics) {
  std::vector<const analysis::MetricComparison*> list;
  for (const analysis::MetricComparison& metric : metrics) {
    list.push_back(&metric);
  }
  return RatioPlot(list);
}

/// Returns the change at the right end of a plot's axis, in percent.
double end_of(const RatioPlot& plot) {
  const std::string axis = plot.axis();
  std::smatch found;
  return std::regex_search(axis, found, std::regex("to \\+([0-9.]+) %")) ? std::stod(found[1])
                                                                         : -1.0;
}

/// Returns where a row's point lies, 0 to 240; negative: it has none.
double point_of(const std::string& row) {
  std::smatch found;
  return std::regex_search(row, found, std::regex("<rect x=\"([0-9.-]+)\""))
             ? std::stod(found[1]) + 4.0
             : -1.0;
}

std::vector<Seconds> times_of(std::initializer_list<double> milliseconds) {
  std::vector<Seconds> times;
  for (const double each : milliseconds) {
    times.emplace_back(each * 1e-3);
  }
  return times;
}

/// Returns the abscissas of a side's lines.
std::vector<double> lines_of(const std::string& picture, const std::string& side) {
  const std::string start = "<path class=\"" + side + "\" d=\"";
  const std::size_t from = picture.find(start) + start.size();
  const std::string path = picture.substr(from, picture.find('"', from) - from);
  std::vector<double> places;
  const std::regex line("M([0-9.]+) ");
  for (std::sregex_iterator each(path.begin(), path.end(), line), end; each != end; ++each) {
    places.push_back(std::stod((*each)[1]));
  }
  return places;
}

TEST(RatioPlot, one_outlier_does_not_flatten_the_others) {
  const auto metrics = metrics_of({0.97, 1.02, 1.03, 1.04, 1.05, 5.0});
  const RatioPlot plot = plot_of(metrics);
  EXPECT_LT(end_of(plot), 7.0);
  EXPECT_GT(point_of(plot.row(metrics[4])), 200.0) << "+5 % uses the room";
  const std::string outlier = plot.row(metrics[5]);
  EXPECT_THAT(outlier, HasSubstr("class=\"beyond\""));
  EXPECT_THAT(outlier, HasSubstr(">+400 %</text>"));
  EXPECT_THAT(outlier, HasSubstr("M238 9")) << "an arrow";
  EXPECT_LT(point_of(outlier), 0.0) << "a point at the edge would say +6 %";
  for (std::size_t i = 0; i + 1 < metrics.size(); ++i) {
    EXPECT_THAT(plot.row(metrics[i]), Not(HasSubstr("beyond")));
  }
}

TEST(RatioPlot, an_axis_without_a_gap_holds_everything) {
  const auto metrics = metrics_of({0.99, 1.02, 1.05, 1.12, 1.3});
  const RatioPlot plot = plot_of(metrics);
  EXPECT_GT(end_of(plot), 30.0);
  for (const analysis::MetricComparison& metric : metrics) {
    EXPECT_THAT(plot.row(metric), Not(HasSubstr("beyond")));
    EXPECT_GT(point_of(plot.row(metric)), 0.0);
  }
}

TEST(RatioPlot, half_of_the_metrics_are_always_on_the_axis) {
  const auto metrics = metrics_of({1.001, 1.2, 3.0});
  EXPECT_GT(point_of(plot_of(metrics).row(metrics[1])), 200.0);
  EXPECT_THAT(plot_of(metrics).row(metrics[2]), HasSubstr(">+200 %</text>"));
  const auto alone = metrics_of({1.5});
  EXPECT_GT(point_of(plot_of(alone).row(alone[0])), 200.0);
}

TEST(SampleStrips, a_far_time_is_counted_at_the_edge_and_leaves_the_others_their_room) {
  const auto before = times_of({1.00, 1.01, 1.02, 1.03, 1.04, 50.0});
  const auto after = times_of({1.10, 1.11, 1.12, 1.13, 1.14, 1.15});
  const std::string picture = sample_strips(before, after);
  const std::vector<double> lines = lines_of(picture, "baseline");
  ASSERT_EQ(lines.size(), 5U) << "the far time is no line";
  EXPECT_GT(lines.back() - lines.front(), 100.0);
  EXPECT_THAT(picture, HasSubstr(">1 beyond, to 50.00 ms</text>"));
  EXPECT_THAT(picture, HasSubstr("n = 6, median 1.025 ms, 1.000 ms … 50.00 ms"));
  EXPECT_EQ(lines_of(picture, "candidate").size(), 6U);
}

TEST(SampleStrips, two_sides_far_apart_are_both_on_the_axis) {
  const std::string picture =
      sample_strips(times_of({1.00, 1.01, 1.02}), times_of({9.00, 9.01, 9.02}));
  EXPECT_THAT(picture, Not(HasSubstr("beyond")));
  EXPECT_EQ(lines_of(picture, "baseline").size(), 3U);
  EXPECT_EQ(lines_of(picture, "candidate").size(), 3U);
}

TEST(SampleStrips, equal_times_make_an_axis_too) {
  const std::string picture = sample_strips(times_of({1.0, 1.0, 1.0}), times_of({1.0, 1.0, 1.0}));
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
  EXPECT_THAT(picture, Not(HasSubstr("beyond")));
}

}  // namespace
}  // namespace plumb::reporting
