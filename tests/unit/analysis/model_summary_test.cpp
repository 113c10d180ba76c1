// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb::analysis {
namespace {

Bound bound(results::BoundKind kind, const std::string& mode, double seconds) {
  return {.kind = kind,
          .mode = mode,
          .seconds = Seconds(seconds),
          .interval = {Seconds(seconds), Seconds(seconds)},
          .complete = true,
          .oldest_row = {},
          .inputs = {}};
}

ExecutionTime execution(const std::string& mode, double seconds) {
  ExecutionTime time;
  time.mode = mode;
  time.median = Seconds(seconds);
  time.samples = seconds > 0 ? 9 : 0;
  return time;
}

ModelBounds sample() {
  ModelBounds model;
  model.bounds = {bound(results::BoundKind::kHardware, "any", 3.3),
                  bound(results::BoundKind::kLibrary, "fusion", 4.0),
                  bound(results::BoundKind::kLibraryParallel, "plain", 3.9),
                  bound(results::BoundKind::kPredicted, "fusion", 4.8),
                  bound(results::BoundKind::kLibrary, "plain", 6.0),
                  bound(results::BoundKind::kLayerSum, "plain", 9.0)};
  model.executions = {execution("plain", 7.2),
                      execution("fusion", 5.0),
                      execution("bf16", 2.0),
                      execution("parallel_branches", 7.8)};
  return model;
}

TEST(ModelSummary, says_what_a_model_takes_and_what_limits_it) {
  const ModelBounds model = sample();
  const ModelSummary summary = summarize(model);
  EXPECT_EQ(summary.now, Seconds(7.2));
  ASSERT_NE(summary.fastest, nullptr);
  EXPECT_EQ(summary.fastest->mode, "fusion") << "bf16 is another type";
  EXPECT_EQ(summary.library, Seconds(4.0));
  EXPECT_EQ(summary.hardware, Seconds(3.3));
}

TEST(ModelSummary, takes_what_a_runtime_does_by_default_as_now) {
  ModelBounds model = sample();
  model.executions[1].library_choice = true;
  const ModelSummary summary = summarize(model);
  EXPECT_EQ(summary.now, Seconds(5.0));
  EXPECT_EQ(summary.fastest, nullptr) << "no mode is faster than now";
}

TEST(ModelSummary, has_a_row_for_each_mode) {
  const ModelBounds model = sample();
  const ModelSummary summary = summarize(model);
  ASSERT_EQ(summary.modes.size(), 4U);
  const ModelSummary::Mode& plain = summary.modes[0];
  EXPECT_EQ(plain.bound, Seconds(6.0));
  EXPECT_EQ(plain.predicted, std::nullopt) << "a sum of layers is no price of a plan";
  EXPECT_NEAR(plain.gap().value(), 1.2, 1e-12);
  EXPECT_EQ(summary.modes[1].predicted, Seconds(4.8));
  EXPECT_EQ(summary.modes[2].bound, std::nullopt) << "the bounds are of the model's own type";
  EXPECT_EQ(summary.modes[2].gap(), std::nullopt);
  EXPECT_EQ(summary.modes[3].bound, Seconds(3.9)) << "of parallel branches";
}

TEST(ModelSummary, knows_nothing_of_what_is_incomplete_or_was_not_executed) {
  ModelBounds model = sample();
  for (Bound& each : model.bounds) {
    each.complete = false;
  }
  model.executions = {execution("plain", 0.0)};
  const ModelSummary summary = summarize(model);
  EXPECT_EQ(summary.now, std::nullopt);
  EXPECT_EQ(summary.fastest, nullptr);
  EXPECT_EQ(summary.library, std::nullopt);
  EXPECT_EQ(summary.hardware, std::nullopt);
  ASSERT_EQ(summary.modes.size(), 2U);
  EXPECT_EQ(summary.modes[0].bound, std::nullopt);
  EXPECT_EQ(summary.modes[1].execution, nullptr);
}

}  // namespace
}  // namespace plumb::analysis
