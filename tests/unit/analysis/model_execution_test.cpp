// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

results::Execution execution_of(std::vector<double> seconds, const std::string& mode = "plain") {
  results::Execution execution;
  execution.mode = mode;
  for (const double each : seconds) {
    execution.row.samples.emplace_back(each);
  }
  execution.row.summary = measure::summarize(execution.row.samples);
  execution.row.floor = Seconds(0.5);
  return execution;
}

ModelBounds bounds_with(results::BoundKind kind, const std::string& mode, double seconds) {
  ModelBounds model;
  model.bounds.push_back({.kind = kind,
                          .mode = mode,
                          .seconds = Seconds(seconds),
                          .interval = {Seconds(seconds - 0.1), Seconds(seconds + 0.1)},
                          .complete = true,
                          .oldest_row = {},
                          .inputs = {}});
  return model;
}

std::vector<std::string> findings(ModelBounds model, const results::Execution& execution) {
  add_executions({&execution, 1}, model::Graph{}, ResultSet({}), model);
  return model.findings;
}

TEST(ModelBenchmark, sums_up_with_the_floor_subtracted) {
  const results::Execution execution = execution_of({1, 2, 3, 4, 5});
  const ExecutionTime time = execution_time({&execution, {&execution}});
  EXPECT_EQ(time.median, Seconds(2.5));
  EXPECT_EQ(time.interval.low, Seconds(0.5));
  EXPECT_EQ(time.interval.high, Seconds(4.5));
  EXPECT_NEAR(time.p90.count(), 4.1, 1e-9);
  EXPECT_NEAR(time.p99.count(), 4.46, 1e-9);
  EXPECT_EQ(time.samples, 5U);
}

TEST(ModelBenchmark, takes_its_interval_from_the_scatter_of_processes) {
  std::vector<results::Execution> executions;
  for (const double time : {2.0, 2.2, 2.1, 2.3, 9.0}) {
    executions.push_back(execution_of({time, time, time, time, time, time, time}));
    executions.back().row.process = static_cast<std::int64_t>(executions.size());
  }
  executions.back().row.disturbance.disturbed = true;
  const std::vector<ReplicatedExecution> replicated = replicated_executions(executions);
  ASSERT_EQ(replicated.size(), 1U);
  EXPECT_EQ(replicated[0].processes.size(), 4U) << "the disturbed one is left out";
  const ExecutionTime time = execution_time(replicated[0]);
  EXPECT_NEAR(time.median.count(), 2.15 - 0.5, 1e-9);
  // Student's t of three degrees, 3.182, times the deviation around the median, 0.129, over 2.
  EXPECT_NEAR((time.interval.high - time.median).count(), 0.2054, 1e-3);
  EXPECT_EQ(time.process_logs.size(), 4U);
  EXPECT_FALSE(time.disturbed);
}

TEST(ModelBenchmark, keeps_times_among_other_shapes_apart) {
  std::vector<results::Execution> executions{execution_of({3, 3, 3})};
  for (const std::int64_t process : {1, 2, 3}) {
    for (const results::SeriesName::Turn turn : results::kShapeTurns) {
      executions.push_back(execution_of({turn == results::SeriesName::Turn::kFirst ? 9.0 : 4.0}));
      executions.back().turn = turn;
      executions.back().row.process = process;
      executions.back().row.floor = Seconds(0.0);
    }
  }
  ModelBounds model = bounds_with(results::BoundKind::kLibrary, "plain", 8.0);
  add_executions(executions, model::Graph{}, ResultSet({}), model);
  ASSERT_EQ(model.executions.size(), 1U);
  EXPECT_EQ(model.executions[0].median, Seconds(2.5));
  EXPECT_THAT(model.findings, testing::SizeIs(1)) << "of the shape alone: 8 s lies above 2.5 s";
  ASSERT_EQ(model.alternations.size(), 3U);
  EXPECT_EQ(model.alternations[0].turn, results::SeriesName::Turn::kFirst);
  EXPECT_EQ(model.alternations[0].median, Seconds(9.0));
  EXPECT_EQ(model.alternations[0].samples, 3U) << "one of each process";
  EXPECT_EQ(model.alternations[0].process_logs.size(), 3U);
}

TEST(ModelBenchmark, says_once_that_all_processes_were_disturbed_among_other_shapes) {
  std::vector<results::Execution> executions;
  for (const results::SeriesName::Turn turn : results::kShapeTurns) {
    executions.push_back(execution_of({4.0, 4.0, 4.0}));
    executions.back().turn = turn;
    executions.back().row.disturbance.disturbed = true;
  }
  ModelBounds model;
  add_executions(executions, model::Graph{}, ResultSet({}), model);
  EXPECT_THAT(model.disturbances,
              ElementsAre(HasSubstr("among its other shapes (plain) was disturbed")));
  EXPECT_THAT(model.findings, IsEmpty());
}

TEST(ModelBenchmark, says_why_shapes_do_not_alternate) {
  results::Execution execution = execution_of({});
  execution.turn = results::SeriesName::Turn::kFirst;
  execution.row.outcome = {results::Outcome::Kind::kUnsupported, "no dynamic shapes"};
  EXPECT_THAT(findings({}, execution),
              ElementsAre("not executed among its other shapes (plain): unsupported: no dynamic "
                          "shapes"));
}

TEST(ModelBenchmark, is_a_finding_where_a_bound_of_its_mode_lies_above_by_interval_ends) {
  const results::Execution execution = execution_of({2, 2, 2, 2, 2, 2, 2});  // 1.5 s
  EXPECT_THAT(findings(bounds_with(results::BoundKind::kLibrary, "plain", 1.7), execution),
              ElementsAre(HasSubstr("library (plain) at 1.7 s lies above the execution")));
  EXPECT_THAT(findings(bounds_with(results::BoundKind::kHardware, "any", 1.7), execution),
              ElementsAre(HasSubstr("wrong calibration")));
  EXPECT_THAT(findings(bounds_with(results::BoundKind::kLibrary, "plain", 1.55), execution),
              IsEmpty());
  EXPECT_THAT(findings(bounds_with(results::BoundKind::kLibrary, "fusion", 1.7), execution),
              IsEmpty());
  EXPECT_THAT(
      findings(bounds_with(results::BoundKind::kBenanzaSequential, "plain", 1.7), execution),
      IsEmpty());
  ModelBounds incomplete = bounds_with(results::BoundKind::kLibrary, "plain", 1.7);
  incomplete.bounds[0].complete = false;
  EXPECT_THAT(findings(incomplete, execution), IsEmpty());
}

TEST(ModelBenchmark, says_why_there_is_no_time) {
  results::Execution execution;
  execution.mode = "plain";
  execution.row.outcome = {results::Outcome::Kind::kWrongResult, "element 3 is nan"};
  ModelBounds model = bounds_with(results::BoundKind::kLibrary, "plain", 1.7);
  add_executions({&execution, 1}, model::Graph{}, ResultSet({}), model);
  EXPECT_EQ(model.executions.at(0).samples, 0U);
  EXPECT_THAT(model.findings,
              ElementsAre("not executed end to end (plain): wrong_result: element 3 is nan"));
}

TEST(ModelBenchmark, takes_the_newest_of_a_mode) {
  std::vector<results::Execution> executions{
      execution_of({2}), execution_of({3}), execution_of({4}, "x")};
  executions[0].row.started = Timestamp(std::chrono::microseconds(2));
  executions[1].row.started = Timestamp(std::chrono::microseconds(1));
  ModelBounds model;
  add_executions(executions, model::Graph{}, ResultSet({}), model);
  ASSERT_EQ(model.executions.size(), 2U);
  EXPECT_EQ(model.executions[0].median, Seconds(1.5));
  EXPECT_EQ(model.executions[1].mode, "x");
}

TEST(ModelBenchmark, says_that_it_was_disturbed) {
  results::Execution execution = execution_of({2, 2});
  execution.row.disturbance.disturbed = true;
  ModelBounds model;
  add_executions({&execution, 1}, model::Graph{}, ResultSet({}), model);
  EXPECT_THAT(model.disturbances, ElementsAre(HasSubstr("was disturbed")));
  EXPECT_THAT(model.findings, IsEmpty());
}

TEST(ModelBenchmark, says_how_it_was_executed_and_what_fell_back_to_the_cpu) {
  results::Execution execution = execution_of({2, 2}, "fusion");
  execution.row.attributes = {{"providers", "CUDAExecutionProvider:9,CPUExecutionProvider:1"}};
  ModelBounds model;
  add_executions({&execution, 1}, model::Graph{}, ResultSet({}), model);
  EXPECT_EQ(model.executions.at(0).attributes, execution.row.attributes);
  EXPECT_THAT(model.findings, IsEmpty());
  execution.row.attributes[results::kCpuNodes] = "shape0 (Shape)";
  EXPECT_THAT(findings({}, execution),
              ElementsAre("nodes fell back to the CPU (fusion): shape0 (Shape)"));
}

TEST(ModelBenchmark, is_priced_by_its_plan_instead_of_its_layers_alone) {
  results::Execution execution = execution_of({2, 2, 2});
  execution.in_context = measure::MeasuredTime{Seconds(1.4), {Seconds(1.4), Seconds(1.4)}};
  ModelBounds model = bounds_with(results::BoundKind::kLayerSum, "plain", 2.5);
  model.bounds.push_back(bounds_with(results::BoundKind::kLibrary, "plain", 1.2).bounds[0]);
  add_executions({&execution, 1}, model::Graph{}, ResultSet({}), model);
  ASSERT_EQ(model.bounds.size(), 2U) << "one number a mode";
  EXPECT_EQ(model.bounds[0].kind, results::BoundKind::kPredicted);
  EXPECT_EQ(model.bounds[0].seconds, Seconds(1.4));
}

}  // namespace
}  // namespace plumb::analysis
