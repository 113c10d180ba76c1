// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/result_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/row_builder.hpp"

namespace plumb::analysis {
namespace {

using testing::DoubleEq;

const model::LayerKey kKey{"v1:matmul;in=f32[4,4],f32[4,4]c;out=f32[4,4];acc=f32;math=strict"};
const model::LayerKey kWeightless{
    "v1:eltwise;in=f32[4];out=f32[4];acc=f32;math=strict;fn=relu;parameters=[]"};

double microseconds(const std::optional<KeyTime>& time) {
  return time ? time->time.median.count() * 1e6 : -1.0;
}

TEST(ResultSet, picks_the_fastest_full_row_and_never_a_race) {
  RowBuilder b;
  b.add(kKey, "slow", 20.0);
  b.add(kKey, "fast", 10.0);
  b.add(kKey, "racer", 5.0).purpose = results::Purpose::kRace;
  const ResultSet results(b.rows());
  EXPECT_THAT(microseconds(results.best(kKey, results::CacheMode::kNone)), DoubleEq(10.0));
  EXPECT_EQ(results.best(kKey, results::CacheMode::kNone)->variant, "fast");
  EXPECT_EQ(results.best(kKey, results::CacheMode::kNone)->row, 2);
}

TEST(ResultSet, believes_the_confirmation_not_the_lucky_first_time) {
  RowBuilder b;
  b.add(kKey, "lucky", 10.0);
  b.add(kKey, "steady", 11.0);
  b.add(kKey, "unconfirmed", 9.0);
  b.add(kKey, "lucky", 12.0).purpose = results::Purpose::kConfirm;
  b.add(kKey, "steady", 11.2).purpose = results::Purpose::kConfirm;
  const std::optional<KeyTime> best = ResultSet(b.rows()).best(kKey, results::CacheMode::kNone);
  EXPECT_EQ(best->variant, "steady");
  EXPECT_NEAR(microseconds(best), 11.2, 1e-9);
}

TEST(ResultSet, prefers_quiet_rows_of_a_variant_to_disturbed_and_unstable_ones) {
  RowBuilder b;
  b.add(kKey, "a", 12.0);
  b.add(kKey, "a", 10.0).disturbance.disturbed = true;
  b.add(kKey, "a", 9.0).outcome = {results::Outcome::Kind::kUnstable, "wide"};
  EXPECT_NEAR(microseconds(ResultSet(b.rows()).best(kKey, results::CacheMode::kNone)), 12.0, 1e-9);
}

TEST(ResultSet, uses_a_reference_implementation_only_where_there_is_nothing_else) {
  RowBuilder b;
  b.add(kKey, "ref", 1.0).reference_implementation = true;
  EXPECT_TRUE(ResultSet(b.rows()).fell_back_to_reference(kKey));
  EXPECT_NEAR(microseconds(ResultSet(b.rows()).best(kKey, results::CacheMode::kNone)), 1.0, 1e-9);
  b.add(kKey, "jit", 50.0);
  EXPECT_FALSE(ResultSet(b.rows()).fell_back_to_reference(kKey));
  EXPECT_NEAR(microseconds(ResultSet(b.rows()).best(kKey, results::CacheMode::kNone)), 50.0, 1e-9);
}

TEST(ResultSet, subtracts_the_floor_and_keeps_the_raw_time) {
  RowBuilder b;
  b.add(kKey, "a", 10.0).floor = Seconds(2e-6);
  const std::optional<KeyTime> best = ResultSet(b.rows()).best(kKey, results::CacheMode::kNone);
  EXPECT_NEAR(microseconds(best), 8.0, 1e-9);
  EXPECT_NEAR(best->raw.median.count() * 1e6, 10.0, 1e-9);
}

TEST(ResultSet, falls_back_to_hot_times_only_for_layers_without_weights) {
  RowBuilder b;
  b.choice(kKey, "a", 10.0);
  b.choice(kWeightless, "a", 3.0);
  const ResultSet results(b.rows());
  EXPECT_FALSE(results.best(kKey, results::CacheMode::kWeights).has_value());
  EXPECT_FALSE(results.library_choice(kKey, results::CacheMode::kWeights).has_value());
  EXPECT_NEAR(microseconds(results.best(kWeightless, results::CacheMode::kWeights)), 3.0, 1e-9);
  EXPECT_NEAR(
      microseconds(results.library_choice(kWeightless, results::CacheMode::kWeights)), 3.0, 1e-9);
  EXPECT_FALSE(results.best(kWeightless, results::CacheMode::kAll).has_value());
}

TEST(ResultSet, knows_the_choice_of_the_library) {
  RowBuilder b;
  b.add(kKey, "fast", 10.0);
  b.choice(kKey, "default", 14.0);
  EXPECT_EQ(ResultSet(b.rows()).library_choice(kKey, results::CacheMode::kNone)->variant,
            "default");
}

TEST(ResultSet, reports_the_worst_failure_and_none_where_there_is_a_time) {
  RowBuilder b;
  b.fail(kKey, results::Outcome::Kind::kUnsupported, "no bf16");
  b.fail(kKey, results::Outcome::Kind::kCrashed, "signal 11");
  b.fail(kKey, results::Outcome::Kind::kSkipped, "budget");
  EXPECT_EQ(ResultSet(b.rows()).failure(kKey)->reason, "signal 11");
  EXPECT_FALSE(ResultSet(b.rows()).failure(kWeightless).has_value());
  b.add(kKey, "a", 10.0);
  EXPECT_FALSE(ResultSet(b.rows()).failure(kKey).has_value());
}

TEST(ResultSet, never_uses_a_wrong_result) {
  RowBuilder b;
  b.add(kKey, "wrong", 1.0).outcome = {results::Outcome::Kind::kWrongResult, "error 0.5"};
  EXPECT_FALSE(ResultSet(b.rows()).best(kKey, results::CacheMode::kNone).has_value());
}

}  // namespace
}  // namespace plumb::analysis
