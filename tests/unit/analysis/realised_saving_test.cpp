// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {
namespace {

ExecutionTime execution(const std::string& mode, double seconds) {
  ExecutionTime time;
  time.mode = mode;
  time.median = Seconds(seconds);
  time.interval = {Seconds(seconds * 0.9), Seconds(seconds * 1.1)};
  time.samples = 9;
  return time;
}

ExecutionTime execution(const std::string& mode, double seconds, double low, double high) {
  ExecutionTime time = execution(mode, seconds);
  time.interval = {Seconds(low), Seconds(high)};
  return time;
}

Bound prediction(const std::string& mode, double seconds) {
  return {.kind = results::BoundKind::kPredicted,
          .mode = mode,
          .seconds = Seconds(seconds),
          .interval = {Seconds(seconds), Seconds(seconds)},
          .complete = true,
          .oldest_row = {},
          .inputs = {}};
}

ModelWhatIfs fusion_what_if() {
  WhatIfResult fusion;
  fusion.name = "fusion";
  fusion.execution_mode = "fusion";
  conclude(fusion, {Seconds(8), {Seconds(8), Seconds(8)}}, {Seconds(4), {Seconds(4), Seconds(4)}});
  return {{}, {fusion}};
}

TEST(RealisedSaving, compares_what_was_predicted_with_what_it_brought) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 7)};
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, ResultSet({}), whatifs);
  const WhatIfResult& fusion = whatifs.whatifs[0];
  EXPECT_EQ(fusion.realised_baseline, Seconds(10));
  EXPECT_EQ(fusion.realised, Seconds(7));
  EXPECT_EQ(fusion.realised_interval.high, Seconds(7 * 1.1));
  EXPECT_NEAR(fusion.realised_speedup.value(), 10.0 / 7.0, 1e-12);
  EXPECT_NEAR(
      fusion.prediction_error.value().share, 0.1, 1e-12);  // 4 s predicted, 3 s realised, of 10 s
}

TEST(RealisedSaving, what_does_not_apply_has_no_gain_from_the_mode_of_another) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("parallel_branches", 7)};
  ModelWhatIfs whatifs;
  for (const char* const name : {"parallel_branches", "weight_gradients"}) {
    WhatIfResult& row = whatifs.whatifs.emplace_back();
    row.name = name;
    row.execution_mode = "parallel_branches";
    row.applies = false;
  }
  add_realised_savings(model, ResultSet({}), whatifs);
  EXPECT_EQ(whatifs.whatifs[0].realised, Seconds(7));
  EXPECT_FALSE(whatifs.whatifs[1].realised.has_value());
}

// Predicted 8 − 4 = 4 s, realised 10 − 7 = 3 s: a difference of 1 s. The four distances from the
// median to the interval's end on the side that matters (Zou and Donner 2008): low end
// √(0.3² + 0.4² + 1.2² + 0²) = 1.3, high end √(0² + 0.2² + 0.6² + 0.9²) = 1.1.
TEST(RealisedSaving, gives_the_error_an_interval_of_all_four_times) {
  ModelBounds model;
  model.executions = {execution("plain", 10, 9.1, 11.2), execution("fusion", 7, 7.0, 7.6)};
  ModelWhatIfs whatifs = fusion_what_if();
  whatifs.whatifs[0].baseline_interval = {Seconds(7.7), Seconds(8.0)};
  whatifs.whatifs[0].predicted_interval = {Seconds(3.8), Seconds(4.4)};
  add_realised_savings(model, ResultSet({}), whatifs);
  const WhatIfResult::PredictionError within = whatifs.whatifs[0].prediction_error.value();
  EXPECT_NEAR(within.share, 0.1, 1e-12);
  EXPECT_EQ(within.low, 0.0);  // −0.3 s to 2.1 s: both savings may be the same
  EXPECT_NEAR(within.high, 0.21, 1e-12);
}

TEST(RealisedSaving, says_when_the_error_is_more_than_the_intervals_allow) {
  ModelBounds model;
  model.executions = {execution("plain", 10, 9, 11), execution("fusion", 12, 12, 12)};
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, ResultSet({}), whatifs);
  const WhatIfResult::PredictionError beyond = whatifs.whatifs[0].prediction_error.value();
  EXPECT_NEAR(beyond.share, 0.6, 1e-12);  // 4 s predicted, 2 s lost
  EXPECT_NEAR(beyond.low, 0.5, 1e-12);
  EXPECT_NEAR(beyond.high, 0.7, 1e-12);
  model.executions[1] = execution("fusion", 1, 1, 1);
  add_realised_savings(model, ResultSet({}), whatifs);
  const WhatIfResult::PredictionError less = whatifs.whatifs[0].prediction_error.value();
  EXPECT_NEAR(less.share, 0.5, 1e-12);  // 4 s predicted, 9 s saved
  EXPECT_NEAR(less.low, 0.4, 1e-12);
  EXPECT_NEAR(less.high, 0.6, 1e-12);
}

TEST(RealisedSaving, of_graph_capture_is_against_eager_and_never_predicted_by_plans) {
  WhatIfResult capture;
  capture.execution_mode = "captured";
  capture.baseline_mode = "eager";
  capture.plans_tell = false;
  capture.why_not = "only an execution can tell";
  ModelWhatIfs whatifs{{}, {capture}};
  ModelBounds model;
  model.executions = {execution("plain", 4), execution("captured", 5)};
  model.bounds = {prediction("eager", 3), prediction("captured", 3)};
  add_realised_savings(model, ResultSet({}), whatifs);
  EXPECT_EQ(whatifs.whatifs[0].realised, std::nullopt) << "eager was not executed";
  model.executions.push_back(execution("eager", 10));
  add_realised_savings(model, ResultSet({}), whatifs);
  const WhatIfResult& result = whatifs.whatifs[0];
  EXPECT_EQ(result.realised_baseline, Seconds(10));
  EXPECT_EQ(result.realised, Seconds(5));
  EXPECT_NEAR(result.realised_speedup.value(), 2.0, 1e-12);
  EXPECT_EQ(result.predicted, std::nullopt) << "the prices of both plans leave out the launches";
  EXPECT_EQ(result.why_not, "only an execution can tell");
}

TEST(RealisedSaving, prices_the_executed_plans_where_it_can) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 7)};
  model.bounds = {prediction("plain", 9.5), prediction("fusion", 6.6)};
  ModelWhatIfs whatifs = fusion_what_if();
  whatifs.whatifs[0].why_not = "no time for a layer as written";
  add_realised_savings(model, ResultSet({}), whatifs);
  const WhatIfResult& fusion = whatifs.whatifs[0];
  EXPECT_EQ(fusion.why_not, "");
  EXPECT_EQ(fusion.baseline, Seconds(9.5));
  EXPECT_EQ(fusion.predicted, Seconds(6.6));
  EXPECT_NEAR(fusion.prediction_error.value().share, 0.01, 1e-12);
}

TEST(RealisedSaving, compares_no_prices_that_leave_out_different_things) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 7)};
  model.bounds = {prediction("plain", 12.5), prediction("fusion", 6.6)};
  model.bounds[0].lacks = {"gaps between steps"};
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, ResultSet({}), whatifs);
  EXPECT_EQ(whatifs.whatifs[0].baseline, Seconds(8)) << "of hot layers, both";
  EXPECT_FALSE(whatifs.whatifs[0].of_plans);
}

TEST(RealisedSaving, does_not_judge_branches_where_threads_share_a_core) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("parallel_branches", 9)};
  model.executions[1].memory = Bytes{4096};
  model.executions[1].maximum_error = 1e-6;
  ModelWhatIfs whatifs = fusion_what_if();
  whatifs.whatifs[0].execution_mode = "parallel_branches";
  results::Calibration calibration;
  calibration.parallel_efficiency = 0.54;
  add_realised_savings(model, ResultSet({}, calibration), whatifs);
  const WhatIfResult& shared = whatifs.whatifs[0];
  EXPECT_EQ(shared.realised, Seconds(9));
  EXPECT_EQ(shared.prediction_error, std::nullopt);
  EXPECT_NE(shared.not_judged.find("54 %"), std::string::npos) << shared.not_judged;
  EXPECT_EQ(shared.realised_memory, Bytes{4096});
  EXPECT_EQ(shared.realised_difference, 1e-6);
}

TEST(RealisedSaving, judges_branches_from_the_least_parallel_efficiency_on) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("parallel_branches", 9)};
  ModelWhatIfs whatifs = fusion_what_if();
  whatifs.whatifs[0].execution_mode = "parallel_branches";
  results::Calibration calibration;
  calibration.parallel_efficiency = std::nextafter(0.8, 0.0);
  add_realised_savings(model, ResultSet({}, calibration), whatifs);
  EXPECT_EQ(whatifs.whatifs[0].prediction_error, std::nullopt);
  EXPECT_NE(whatifs.whatifs[0].not_judged, "");
  calibration.parallel_efficiency = 0.8;
  add_realised_savings(model, ResultSet({}, calibration), whatifs);
  EXPECT_TRUE(whatifs.whatifs[0].prediction_error);
  EXPECT_EQ(whatifs.whatifs[0].not_judged, "");
}

TEST(RealisedSaving, says_why_a_mode_without_a_prediction_gave_no_time) {
  ModelBounds model;
  model.executions = {execution("plain", 10)};
  ExecutionTime refused;
  refused.mode = "captured";
  refused.outcome = {results::Outcome::Kind::kUnsupported, "a CPU has no launches"};
  model.executions.push_back(refused);
  ModelWhatIfs whatifs;
  whatifs.whatifs.emplace_back();
  whatifs.whatifs[0].execution_mode = "captured";
  whatifs.whatifs[0].why_not = "only an execution can tell";
  add_realised_savings(model, ResultSet({}), whatifs);
  EXPECT_EQ(whatifs.whatifs[0].why_not,
            "not executed in the mode captured: unsupported: a CPU has no launches");
  EXPECT_FALSE(whatifs.whatifs[0].applies);
}

TEST(RealisedSaving, says_when_an_optimisation_made_it_slower) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 12)};
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, ResultSet({}), whatifs);
  EXPECT_LT(whatifs.whatifs[0].realised_speedup.value(), 1.0);
  EXPECT_NEAR(whatifs.whatifs[0].prediction_error.value().share, 0.6, 1e-12);
}

TEST(RealisedSaving, is_unknown_without_both_executions) {
  ModelBounds model;
  model.executions = {execution("plain", 10)};
  model.executions.push_back(execution("fusion", 7));
  model.executions.back().samples = 0;  // failed
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, ResultSet({}), whatifs);
  EXPECT_FALSE(whatifs.whatifs[0].realised.has_value());
  EXPECT_FALSE(whatifs.whatifs[0].prediction_error.has_value());
  EXPECT_EQ(whatifs.whatifs[0].predicted, Seconds(4));
}

}  // namespace
}  // namespace plumb::analysis
