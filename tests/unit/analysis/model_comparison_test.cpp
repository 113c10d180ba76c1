// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/model_comparison.hpp"

#include <gmock/gmock.h>

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

ExecutionTime execution(double milliseconds, const std::string& mode = "plain") {
  ExecutionTime time;
  time.mode = mode;
  time.scenario = loadgen::ScenarioName::kSingleStream;
  time.samples = 30;
  time.median = Seconds(milliseconds * 1e-3);
  time.interval = {time.median * 0.999, time.median * 1.001};
  return time;
}

ModelBounds model(const std::vector<ExecutionTime>& executions) {
  ModelBounds bounds;
  bounds.instance = {"tiny", 1, "f32"};
  bounds.executions = executions;
  return bounds;
}

std::vector<ModelRegression::Change> changes(const ModelBounds& before,
                                             const ModelBounds& after,
                                             double deviation = 0.001) {
  return compare_models({&before, 1}, {&after, 1}, {deviation, 20}, {}, {});
}

TEST(ModelComparison, end_to_end_times_are_compared_by_mode_and_scenario) {
  const auto found = changes(model({execution(10), execution(5, "fusion")}),
                             model({execution(5, "fusion"), execution(11)}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].metric.series, "models/tiny|1|f32/end_to_end/plain/single_stream");
  EXPECT_EQ(found[0].metric.kind, MetricKind::kEndToEnd);
  EXPECT_EQ(found[0].metric.verdict, ComparisonVerdict::kRegressed);
  EXPECT_THAT(found[0].metric.ratio, Optional(testing::DoubleNear(1.1, 1e-9)));
  EXPECT_EQ(found[1].metric.verdict, ComparisonVerdict::kEquivalent);
}

TEST(ModelComparison, times_among_other_shapes_are_compared_by_turn_and_decide_nothing) {
  const auto among = [](double first, double changed) {
    ModelBounds bounds = model({execution(10)});
    for (const auto& [turn, time] : {std::pair(results::SeriesName::Turn::kFirst, first),
                                     std::pair(results::SeriesName::Turn::kChanged, changed)}) {
      bounds.alternations.push_back(execution(time));
      bounds.alternations.back().turn = turn;
    }
    return bounds;
  };
  const auto found = changes(among(90, 11), among(90, 15));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].metric.verdict, ComparisonVerdict::kEquivalent) << "the model alone";
  EXPECT_TRUE(found[0].metric.decides);
  EXPECT_EQ(found[1].metric.series, "models/tiny|1|f32/alternation/plain/first");
  EXPECT_EQ(found[1].metric.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_THAT(found[1].metric.reason, HasSubstr("a process has one such time"));
  EXPECT_EQ(found[2].metric.series, "models/tiny|1|f32/alternation/plain/changed");
  EXPECT_EQ(found[2].metric.kind, MetricKind::kAlternation);
  EXPECT_EQ(found[2].metric.verdict, ComparisonVerdict::kRegressed);
  EXPECT_FALSE(found[2].metric.decides);
  ModelBounds broken = among(90, 11);
  broken.alternations.resize(1);
  broken.alternations[0].samples = 0;
  broken.alternations[0].outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
  const auto now = changes(among(90, 11), broken);
  EXPECT_EQ(now[1].metric.verdict, ComparisonVerdict::kBroken);
  EXPECT_THAT(now[2].metric.reason, HasSubstr("did not execute it"));
}

TEST(ModelComparison, changes_below_two_percent_of_an_uncalibrated_model_are_none) {
  const MetricComparison below =
      changes(model({execution(10)}), model({execution(10.15)}), 0.0002)[0].metric;
  EXPECT_EQ(below.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_DOUBLE_EQ(below.floor->relative, 0.02);
  EXPECT_EQ(below.floor->source, MetricComparison::Floor::Source::kAssumed);
}

TEST(ModelComparison, changes_below_one_percent_of_a_calibrated_model_are_none) {
  CalibratedFloors floors;
  floors.series[end_to_end_series("tiny|1|f32", "plain", loadgen::ScenarioName::kSingleStream)] = {
      .process = 0.0002, .floor = 0.02};
  const ModelBounds before = model({execution(10)});
  const auto compare = [&](double milliseconds) {
    const ModelBounds after = model({execution(milliseconds)});
    return compare_models({&before, 1}, {&after, 1}, {0.0002, 20}, floors, {})[0].metric;
  };
  EXPECT_EQ(compare(10.05).verdict, ComparisonVerdict::kEquivalent);
  EXPECT_DOUBLE_EQ(compare(10.05).floor->relative, 0.01);
  EXPECT_EQ(compare(10.05).floor->source, MetricComparison::Floor::Source::kFixed);
  EXPECT_EQ(compare(10.15).verdict, ComparisonVerdict::kRegressed);
}

TEST(ModelComparison, a_model_that_was_calibrated_is_known_by_its_own_deviation) {
  const ModelBounds before = model({execution(10)});
  const ModelBounds after = model({execution(10.5)});
  CalibratedFloors floors;
  floors.series[end_to_end_series("tiny|1|f32", "plain", loadgen::ScenarioName::kSingleStream)] = {
      .process = 0.04, .floor = 0.12};
  EXPECT_EQ(compare_models({&before, 1}, {&after, 1}, {0.001, 20}, {}, {})[0].metric.verdict,
            ComparisonVerdict::kRegressed);
  EXPECT_EQ(compare_models({&before, 1}, {&after, 1}, {0.001, 20}, floors, {})[0].metric.verdict,
            ComparisonVerdict::kInconclusive);
}

TEST(ModelComparison, processes_that_differ_much_hide_a_change) {
  EXPECT_EQ(changes(model({execution(10)}), model({execution(11)}), 0.04)[0].metric.verdict,
            ComparisonVerdict::kInconclusive);
}

TEST(ModelComparison, an_execution_that_now_fails_is_broken_and_says_why) {
  ExecutionTime crashed;
  crashed.mode = "plain";
  crashed.scenario = loadgen::ScenarioName::kSingleStream;
  crashed.outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
  const auto found = changes(model({execution(10)}), model({crashed}));
  EXPECT_EQ(found[0].metric.verdict, ComparisonVerdict::kBroken);
  EXPECT_THAT(found[0].metric.reason, HasSubstr("crashed: signal 11"));
  crashed.outcome.kind = results::Outcome::Kind::kSkipped;
  EXPECT_EQ(changes(model({execution(10)}), model({crashed}))[0].metric.verdict,
            ComparisonVerdict::kInconclusive);
}

TEST(ModelComparison, another_instance_is_another_model) {
  ModelBounds batched = model({execution(10)});
  batched.instance.batch = 8;
  EXPECT_TRUE(changes(model({execution(10)}), batched).empty());
}

results::ScenarioResult load(bool valid) {
  results::ScenarioResult load;
  load.mode = "plain";
  load.scenario = loadgen::ScenarioName::kServer;
  load.result.emplace();
  if (!valid) {
    load.result->shortfalls.push_back({});
    load.result->shortfalls.back().kind = loadgen::LoadResult::Shortfall::Kind::kLatency;
  }
  return load;
}

TEST(ModelComparison, a_load_that_keeps_its_limit_no_more_is_regressed) {
  ModelBounds before = model({});
  ModelBounds after = model({});
  before.loads = {load(true)};
  after.loads = {load(false)};
  const auto found = changes(before, after);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].metric.series, "models/tiny|1|f32/load/plain/server");
  EXPECT_EQ(found[0].metric.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(changes(after, before)[0].metric.verdict, ComparisonVerdict::kImproved);
  EXPECT_EQ(changes(before, before)[0].metric.verdict, ComparisonVerdict::kInconclusive);
  after.loads[0].result.reset();
  after.loads[0].outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
  EXPECT_EQ(changes(before, after)[0].metric.verdict, ComparisonVerdict::kBroken);
}

}  // namespace
}  // namespace plumb::analysis
