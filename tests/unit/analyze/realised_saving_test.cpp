// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/realised_saving.hpp"

#include <gtest/gtest.h>

namespace plumb {
namespace {

ExecutionTime execution(const std::string& mode, double seconds) {
  ExecutionTime time;
  time.mode = mode;
  time.median = Seconds(seconds);
  time.interval = {Seconds(seconds * 0.9), Seconds(seconds * 1.1)};
  time.samples = 9;
  return time;
}

Bound prediction(const std::string& mode, double seconds) {
  return {.kind = "predicted",
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
  conclude(fusion, Seconds(8), Seconds(4), {});
  return {{}, {fusion}};
}

TEST(RealisedSaving, compares_what_was_predicted_with_what_it_brought) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 7)};
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, whatifs);
  const WhatIfResult& fusion = whatifs.whatifs[0];
  EXPECT_EQ(fusion.realised_baseline, Seconds(10));
  EXPECT_EQ(fusion.realised, Seconds(7));
  EXPECT_EQ(fusion.realised_interval.high, Seconds(7 * 1.1));
  EXPECT_NEAR(fusion.realised_speedup.value(), 10.0 / 7.0, 1e-12);
  EXPECT_NEAR(fusion.prediction_error.value(), 0.1, 1e-12);  // 4 s predicted, 3 s realised, of 10 s
}

TEST(RealisedSaving, prices_the_executed_plans_where_it_can) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 7)};
  model.bounds = {prediction("plain", 9.5), prediction("fusion", 6.6)};
  ModelWhatIfs whatifs = fusion_what_if();
  whatifs.whatifs[0].why_not = "no time for a layer as written";
  add_realised_savings(model, whatifs);
  const WhatIfResult& fusion = whatifs.whatifs[0];
  EXPECT_EQ(fusion.why_not, "");
  EXPECT_EQ(fusion.baseline, Seconds(9.5));
  EXPECT_EQ(fusion.predicted, Seconds(6.6));
  EXPECT_NEAR(fusion.prediction_error.value(), 0.01, 1e-12);
}

TEST(RealisedSaving, says_when_an_optimisation_made_it_slower) {
  ModelBounds model;
  model.executions = {execution("plain", 10), execution("fusion", 12)};
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, whatifs);
  EXPECT_LT(whatifs.whatifs[0].realised_speedup.value(), 1.0);
  EXPECT_NEAR(whatifs.whatifs[0].prediction_error.value(), 0.6, 1e-12);
}

TEST(RealisedSaving, is_unknown_without_both_executions) {
  ModelBounds model;
  model.executions = {execution("plain", 10)};
  model.executions.push_back(execution("fusion", 7));
  model.executions.back().samples = 0;  // failed
  ModelWhatIfs whatifs = fusion_what_if();
  add_realised_savings(model, whatifs);
  EXPECT_FALSE(whatifs.whatifs[0].realised.has_value());
  EXPECT_FALSE(whatifs.whatifs[0].prediction_error.has_value());
  EXPECT_EQ(whatifs.whatifs[0].predicted, Seconds(4));
}

}  // namespace
}  // namespace plumb
