// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution.hpp"

#include <gtest/gtest.h>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

TEST(Execution, reads_back_as_it_was_written) {
  Execution execution;
  execution.mode = "plain";
  execution.row.key.text = "model:lenet";
  execution.row.samples = {Seconds(0.25), Seconds(1.0 / 3.0)};
  execution.row.summary = measure::summarize(execution.row.samples);
  execution.row.output_hash = "00ff";
  execution.memory = Bytes{123};
  execution.reorders = 4;
  execution.layers = {{{0}, {"v1:conv"}, "impl=a", Seconds(0.5), Seconds(0.25), 1, {}},
                      {{1}, {"v1:relu"}, "impl=b", Seconds(0.5), Seconds(0), 0, {}}};
  execution.layers[1].in_context = {Seconds(0.5), {Seconds(0.25), Seconds(0.75)}};
  execution.in_context = {Seconds(0.75), {Seconds(0.5), Seconds(1.0)}};
  const Execution read = execution_from_json(to_json(execution));
  EXPECT_EQ(to_json(read), to_json(execution));
  EXPECT_EQ(read.row.samples, execution.row.samples);
  EXPECT_EQ(read.memory.value, 123);
  EXPECT_EQ(read.reorders, 4);
  ASSERT_EQ(read.layers.size(), 2U);
  EXPECT_FALSE(read.layers[0].in_context);
  ASSERT_TRUE(read.layers[1].in_context);
  EXPECT_EQ(read.layers[1].in_context->interval.high, Seconds(0.75));
  ASSERT_TRUE(read.in_context);
  EXPECT_EQ(read.in_context->interval.high, Seconds(1.0));
}

TEST(Execution, has_a_scenario_where_a_worker_in_python_named_none) {
  std::string text = to_json(Execution{});
  text.replace(text.find("single_stream"), 13, "");
  EXPECT_EQ(execution_from_json(text).scenario, loadgen::ScenarioName::kSingleStream);
  text.replace(text.find("\"scenario\":\"\""), 13, "\"scenario\":\"rush_hour\"");
  EXPECT_THROW(static_cast<void>(execution_from_json(text)), Error);
}

TEST(Execution, has_a_turn_among_other_shapes_alone) {
  EXPECT_EQ(to_json(Execution{}).find("turn"), std::string::npos);
  EXPECT_FALSE(execution_from_json(to_json(Execution{})).turn);
  Execution execution;
  for (const SeriesName::Turn turn : kShapeTurns) {
    execution.turn = turn;
    EXPECT_EQ(execution_from_json(to_json(execution)).turn, turn);
  }
  std::string text = to_json(execution);
  const std::string word = "\"turn\":\"changed\"";
  ASSERT_NE(text.find(word), std::string::npos) << text;
  text.replace(text.find(word), word.size(), "\"turn\":\"last\"");
  EXPECT_THROW(static_cast<void>(execution_from_json(text)), Error);
}

TEST(Execution, refuses_what_it_did_not_write) {
  EXPECT_THROW(static_cast<void>(execution_from_json("{}")), Error);
  EXPECT_THROW(static_cast<void>(execution_from_json("nonsense")), Error);
  std::string text = to_json(Execution{});
  text.replace(text.find("\"reorders\":0"), 12, "\"reorders\":-1");
  EXPECT_THROW(static_cast<void>(execution_from_json(text)), Error);
}

}  // namespace
}  // namespace plumb::results
