// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/analysis/compare/model_comparison.hpp"

namespace plumb::analysis {
namespace {

using ::testing::Optional;

measure::Interval around(Seconds time) {
  return {time * 0.999, time * 1.001};
}

/// Makes what a run says of one model: its library bound and its time end to end, in milliseconds;
/// absent: a layer, or the execution, failed.
std::vector<ModelBounds> run_of(std::optional<double> bound_ms, std::optional<double> latency_ms) {
  ModelBounds model;
  model.instance = {"tiny", 1, "f32"};
  Bound bound;
  bound.kind = results::BoundKind::kLibrary;
  bound.mode = "fusion";
  bound.complete = bound_ms.has_value();
  bound.seconds = Seconds(bound_ms.value_or(0.5) * 1e-3);
  bound.interval = around(bound.seconds);
  model.bounds.push_back(bound);
  if (!bound_ms) {
    model.unsupported.push_back(
        {"conv", "v1:conv", "crashed: gone", results::Outcome::Kind::kCrashed});
  }
  ExecutionTime execution;
  execution.mode = "plain";
  execution.scenario = loadgen::ScenarioName::kSingleStream;
  if (latency_ms) {
    execution.samples = 30;
    execution.median = Seconds(*latency_ms * 1e-3);
    execution.interval = around(execution.median);
  } else {
    execution.outcome = {results::Outcome::Kind::kCrashed, "killed by signal 11"};
  }
  model.executions.push_back(execution);
  return {model};
}

using RunModels = std::vector<ModelBounds>;

/// Returns the regression of one metric over runs, newest first.
ModelRegression judged(const std::vector<RunModels>& newest_first,
                       const std::string& metric,
                       const std::optional<RunModels>& baseline = {}) {
  std::vector<ModelRegression::Run> runs;
  for (const RunModels& run : newest_first) {
    runs.push_back({run, {0.002, 20}});
  }
  std::optional<ModelRegression::Run> kept;
  if (baseline) {
    kept = ModelRegression::Run{*baseline, {0.002, 20}};
  }
  for (const ModelRegression& regression : find_regressions(runs, kept)) {
    if (regression.metric == metric) {
      return regression;
    }
  }
  ADD_FAILURE() << "no " << metric;
  return {};
}

ModelRegression::State latency_state(std::initializer_list<double> newest_first) {
  std::vector<RunModels> runs;
  for (const double time : newest_first) {
    runs.push_back(run_of(1.0, time));
  }
  return judged(runs, "latency").state;
}

TEST(RegressionState, one_run_has_no_baseline) {
  const ModelRegression alone = judged({run_of(1.0, 2.0)}, "bound_library");
  EXPECT_EQ(alone.state, ModelRegression::State::kNoBaseline);
  EXPECT_FALSE(alone.ratio);
  EXPECT_EQ(alone.mode, "fusion");
}

TEST(RegressionState, equal_runs_are_equivalent_and_faster_ones_improved) {
  EXPECT_EQ(latency_state({2.0, 2.0}), ModelRegression::State::kEquivalent);
  EXPECT_EQ(latency_state({1.8, 2.0}), ModelRegression::State::kImproved);
}

TEST(RegressionState, the_first_worse_run_is_only_suspected) {
  EXPECT_EQ(latency_state({2.2, 2.0, 2.0}), ModelRegression::State::kSuspected);
}

TEST(RegressionState, two_worse_runs_confirm_and_it_stays_until_a_run_is_better) {
  EXPECT_EQ(latency_state({2.2, 2.2, 2.0}), ModelRegression::State::kRegressed);
  EXPECT_EQ(latency_state({2.2, 2.2, 2.2, 2.2, 2.0, 2.0}), ModelRegression::State::kRegressed);
  EXPECT_EQ(latency_state({2.0, 2.2, 2.2, 2.0}), ModelRegression::State::kImproved);
  EXPECT_EQ(latency_state({2.0, 2.0, 2.2, 2.2, 2.0}), ModelRegression::State::kEquivalent);
}

TEST(RegressionState, one_slow_run_between_is_no_regression) {
  EXPECT_EQ(latency_state({2.2, 2.0, 2.2, 2.0}), ModelRegression::State::kSuspected);
}

TEST(RegressionState, the_ratio_is_to_the_run_before_the_change) {
  const std::vector<RunModels> runs{run_of(1.0, 2.2), run_of(1.0, 2.2), run_of(1.0, 2.0)};
  EXPECT_THAT(judged(runs, "latency").ratio, Optional(testing::DoubleNear(1.1, 1e-9)));
}

TEST(RegressionState, a_baseline_judges_the_newest_two) {
  const RunModels fast = run_of(1.0, 2.0);
  const RunModels slow = run_of(1.1, 2.2);
  EXPECT_EQ(judged({slow}, "bound_library", fast).state, ModelRegression::State::kSuspected);
  EXPECT_EQ(judged({slow, slow}, "bound_library", fast).state, ModelRegression::State::kRegressed);
  EXPECT_EQ(judged({slow, fast}, "bound_library", fast).state, ModelRegression::State::kSuspected);
  EXPECT_EQ(judged({fast, slow}, "bound_library", fast).state, ModelRegression::State::kEquivalent);
}

TEST(RegressionState, what_worked_before_and_fails_is_broken) {
  const std::vector<RunModels> runs{run_of(1.0, std::nullopt), run_of(1.0, 2.0)};
  EXPECT_EQ(judged(runs, "latency").state, ModelRegression::State::kBroken);
  EXPECT_EQ(judged({run_of({}, 2.0), run_of(1.0, 2.0)}, "bound_library").state,
            ModelRegression::State::kBroken);
  const std::vector<RunModels> longer{run_of({}, 2.0), run_of({}, 2.0), run_of(1.0, 2.0)};
  EXPECT_EQ(judged(longer, "bound_library").state, ModelRegression::State::kBroken);
}

TEST(RegressionState, a_layer_that_was_not_measured_breaks_nothing) {
  RunModels partial = run_of({}, 2.0);
  partial[0].unsupported[0].outcome.reset();
  EXPECT_EQ(judged({partial, run_of(1.0, 2.0)}, "bound_library").state,
            ModelRegression::State::kInconclusive);
}

TEST(RegressionState, other_scenarios_are_not_latency) {
  RunModels run = run_of(1.0, 2.0);
  run[0].executions[0].scenario = loadgen::ScenarioName::kOffline;
  EXPECT_EQ(find_regressions(std::vector<ModelRegression::Run>{{run, {}}}, {}).size(), 1U);
}

TEST(RegressionState, has_a_text_for_every_state) {
  EXPECT_EQ(to_text(ModelRegression::State::kBroken), "broken");
  EXPECT_EQ(to_text(ModelRegression::State::kNoBaseline), "no_baseline");
}

}  // namespace
}  // namespace plumb::analysis
