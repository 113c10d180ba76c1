// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/bounds.hpp"
#include "tests/unit/analysis/row_builder.hpp"

namespace plumb::analysis {
namespace {

const model::LayerKey kProduct{
    "v1:matmul;in=f32[1000,500],f32[500,200]c;out=f32[1000,200];acc=f32;math=strict"};
const model::LayerKey kIntegers{
    "v1:matmul;in=s32[10,10],s32[10,10];out=s32[10,10];acc=s32;math=strict"};

results::Calibration machine() {
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e11};
  calibration.memory_bandwidth = BytesPerSecond{1e10};
  return calibration;
}

TEST(SingleLayer, has_the_time_of_its_fastest_variant_and_a_bound_of_its_own) {
  RowBuilder rows;
  rows.choice(kProduct, "impl=a", 4000);
  rows.add(kProduct, "impl=b", 3000);
  const std::vector<model::ListedLayer> layers{{kProduct, 3, "shapes/x.toml"}};
  const auto results = single_layer_results(layers, ResultSet(rows.rows(), machine()));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].layer, layers[0]);
  EXPECT_EQ(results[0].cost.macs, 100'000'000);
  ASSERT_TRUE(results[0].time.has_value());
  EXPECT_EQ(results[0].time->variant, "impl=b");
  EXPECT_EQ(results[0].cache, results::CacheMode::kNone);
  ASSERT_TRUE(results[0].hardware.has_value());
  EXPECT_DOUBLE_EQ(results[0].hardware->count(), 2e8 / 1e11);  // 3.2 MB need less
  EXPECT_EQ(results[0].reason, "");
}

TEST(SingleLayer, falls_back_on_the_cache_mode_that_was_measured) {
  RowBuilder rows;
  rows.add(kProduct, "impl=a", 4000).cache = results::CacheMode::kAll;
  const auto results = single_layer_results(std::vector<model::ListedLayer>{{kProduct, 1, ""}},
                                            ResultSet(rows.rows()));
  ASSERT_TRUE(results[0].time.has_value());
  EXPECT_EQ(results[0].cache, results::CacheMode::kAll);
  EXPECT_EQ(results[0].hardware, std::nullopt) << "nothing was calibrated";
}

TEST(SingleLayer, says_why_there_is_no_time) {
  RowBuilder rows;
  rows.fail(kProduct, results::Outcome::Kind::kUnsupported, "no such type");
  const auto results =
      single_layer_results(std::vector<model::ListedLayer>{{kProduct, 1, ""}, {kIntegers, 1, ""}},
                           ResultSet(rows.rows()));
  EXPECT_EQ(results[0].reason, "unsupported: no such type");
  EXPECT_EQ(results[1].reason, "not measured");
}

// The peak that is measured is of floating-point arithmetic; integers may be faster.
TEST(SingleLayer, has_no_compute_bound_of_integers) {
  const auto results = single_layer_results(std::vector<model::ListedLayer>{{kIntegers, 1, ""}},
                                            ResultSet({}, machine()));
  ASSERT_TRUE(results[0].hardware.has_value());
  EXPECT_DOUBLE_EQ(results[0].hardware->count(), 1200 / 1e10);
}

}  // namespace
}  // namespace plumb::analysis
