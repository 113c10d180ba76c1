// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/batch_curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::analysis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

ModelBounds model_at(std::int64_t batch, const std::string& mode, double seconds) {
  ModelBounds model;
  model.instance = {"handmade", batch, "f32"};
  ExecutionTime time;
  time.mode = mode;
  time.median = Seconds(seconds);
  time.samples = 9;
  time.memory = Bytes{100 * batch};
  model.executions.push_back(time);
  return model;
}

TEST(BatchCurve, bends_where_a_larger_batch_brings_little_more) {
  // 1, 4, 9.5 and 10 inputs a second.
  const std::vector<ModelBounds> models{model_at(4, "plain", 1.0),
                                        model_at(1, "plain", 1.0),
                                        model_at(8, "plain", 8.0 / 9.5),
                                        model_at(16, "plain", 1.6)};
  const std::vector<BatchCurve> curves = compute_batch_curves(models);
  ASSERT_THAT(curves, SizeIs(1));
  ASSERT_THAT(curves[0].points, SizeIs(4));
  EXPECT_EQ(curves[0].points[0].batch, 1);
  EXPECT_EQ(curves[0].knee, 8);
  EXPECT_DOUBLE_EQ(curves[0].points[3].throughput(), 10.0);
}

TEST(BatchCurve, has_no_knee_while_throughput_still_grows) {
  const std::vector<ModelBounds> models{
      model_at(1, "plain", 1.0), model_at(2, "plain", 1.0), model_at(4, "plain", 1.0)};
  EXPECT_EQ(compute_batch_curves(models)[0].knee, std::nullopt);
}

TEST(BatchCurve, needs_three_batches_of_one_mode) {
  const std::vector<ModelBounds> models{
      model_at(1, "plain", 1.0), model_at(2, "plain", 1.0), model_at(4, "fusion", 1.0)};
  EXPECT_THAT(compute_batch_curves(models), IsEmpty());
}

TEST(CapturedGraphs, add_up_over_the_shapes_of_a_model) {
  std::vector<ModelBounds> models{model_at(1, "captured", 1.0), model_at(2, "captured", 1.5)};
  for (ModelBounds& model : models) {
    model.executions.push_back(model_at(model.instance.batch, "eager", 2.0).executions[0]);
  }
  models.push_back(model_at(4, "captured", 1.0));  // not executed eager
  const std::vector<CapturedGraphs> sums = sum_captured_graphs(models);
  ASSERT_THAT(sums, SizeIs(1));
  EXPECT_EQ(sums[0].graphs, 2U);
  EXPECT_EQ(sums[0].memory, Bytes{300});
  EXPECT_DOUBLE_EQ(sums[0].saved.count(), 1.5);
}

}  // namespace
}  // namespace plumb::analysis
