// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/micro_batch/layer_division.hpp"

#include <gmock/gmock.h>

#include "harness/model/key/layer_spec.hpp"
#include "tests/unit/analysis/row_builder.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const model::LayerSpec& convolution() {
  static const model::LayerSpec spec = model::parse_key(
      {"v1:conv;in=f32[6,8,9,9],f32[8,8,3,3]c;out=f32[6,8,7,7];acc=f32;math=strict;dilations=[1,1];"
       "group=1;pads=[0,0,0,0];strides=[1,1]"});
  return spec;
}

model::LayerKey of_batch(std::int64_t batch) {
  return model::to_key(model::with_batch(convolution(), batch));
}

/// Rows of batches 1, 2, 4 and 6, of which 2 is fastest for each image.
RowBuilder measured() {
  RowBuilder rows;
  const std::vector<std::pair<std::int64_t, double>> times{{1, 40}, {2, 20}, {4, 90}, {6, 100}};
  for (const auto& [batch, microseconds] : times) {
    rows.choice(of_batch(batch), "impl=a", microseconds).workspace = {batch * 1000};
  }
  return rows;
}

std::vector<model::LayerKey> keys_of(const LayerDivision& division) {
  std::vector<model::LayerKey> keys;
  for (const LayerDivision::Step& step : division.steps) {
    keys.push_back(step.key);
  }
  return keys;
}

TEST(LayerDivision, takes_the_sizes_that_are_fastest_together) {
  const ResultSet results(measured().rows());
  const LayerDivision division = divide_layer(results, convolution(), {{1 << 20}});
  EXPECT_EQ(division.variant, "impl=plumb:micro_batch;parts=3*2[impl=a]");
  EXPECT_THAT(keys_of(division), ElementsAre(of_batch(2), of_batch(2), of_batch(2)));
  EXPECT_DOUBLE_EQ(division.time().count(), 60e-6);
  EXPECT_FALSE(division.own_choice);
}

TEST(LayerDivision, keeps_the_cap_of_workspace) {
  RowBuilder rows = measured();
  const LayerDivision small = divide_layer(ResultSet(rows.rows()), convolution(), {{1500}});
  EXPECT_EQ(small.variant, "impl=plumb:micro_batch;parts=6*1[impl=a]");
  EXPECT_THAT(divide_layer(ResultSet(rows.rows()), convolution(), {{10}}).why_not,
              HasSubstr("no variant keeps 10 bytes"));
  rows.add(of_batch(6), "impl=lean", 110.0).workspace = {10};
  const LayerDivision lean = divide_layer(ResultSet(rows.rows()), convolution(), {{10}});
  EXPECT_EQ(lean.variant, "impl=lean");
  EXPECT_FALSE(lean.own_choice) << "the library would choose another";
}

TEST(LayerDivision, leaves_a_batch_whole_where_that_is_fastest) {
  RowBuilder rows = measured();
  rows.choice(of_batch(6), "impl=b", 30.0);
  const LayerDivision division = divide_layer(ResultSet(rows.rows()), convolution(), {{1 << 20}});
  EXPECT_EQ(division.parts, 1U);
  EXPECT_EQ(division.variant, "impl=b");
  EXPECT_TRUE(division.own_choice);
}

TEST(LayerDivision, names_what_is_missing_and_guesses_nothing) {
  RowBuilder rows;
  rows.choice(of_batch(6), "impl=a", 100.0);
  rows.choice(of_batch(2), "impl=a", 20.0);
  const LayerDivision division = divide_layer(ResultSet(rows.rows()), convolution(), {{1 << 20}});
  EXPECT_THAT(division.missing, ElementsAre(1, 4));
  EXPECT_EQ(division.why_not, "no time of a batch of 1");
  EXPECT_TRUE(part_sizes(model::with_batch(convolution(), 1),
                         results::VariantId::DivisionRule::Policy::kAll)
                  .empty());
}

TEST(LayerDivision, tries_the_sizes_of_its_policy) {
  RowBuilder rows;
  rows.choice(of_batch(6), "impl=a", 100.0);
  rows.choice(of_batch(3), "impl=a", 20.0);
  const auto divided = [&](results::VariantId::DivisionRule::Policy policy) {
    return divide_layer(ResultSet(rows.rows()), convolution(), {{1 << 20}, policy});
  };
  EXPECT_THAT(divided(results::VariantId::DivisionRule::Policy::kUndivided).missing, ElementsAre());
  EXPECT_EQ(divided(results::VariantId::DivisionRule::Policy::kUndivided).parts, 1U);
  EXPECT_THAT(divided(results::VariantId::DivisionRule::Policy::kPowersOfTwo).missing,
              ElementsAre(1, 2, 4));
  EXPECT_THAT(divided(results::VariantId::DivisionRule::Policy::kAll).missing,
              ElementsAre(1, 2, 4, 5));
  for (const std::int64_t batch : {1, 2, 4, 5}) {
    rows.choice(of_batch(batch), "impl=a", 90.0);
  }
  EXPECT_EQ(divided(results::VariantId::DivisionRule::Policy::kPowersOfTwo).variant, "impl=a");
  EXPECT_EQ(divided(results::VariantId::DivisionRule::Policy::kAll).variant,
            "impl=plumb:micro_batch;parts=2*3[impl=a]");
}

TEST(LayerDivision, counts_additions_of_gradients_of_weights) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv_backward_weights;in=f32[4,8,7,7],f32[4,8,9,9];out=f32[8,8,3,3];acc=f32;math=strict;"
       "dilations=[1,1];group=1;outputs=w;pads=[0,0,0,0];strides=[1,1]"});
  const auto of = [&](std::int64_t batch) { return model::to_key(model::with_batch(spec, batch)); };
  const model::LayerKey addition = model::part_additions(spec).at(0);
  RowBuilder rows;
  rows.choice(of(1), "impl=a", 10.0);
  rows.choice(of(2), "impl=a", 20.0);
  rows.choice(of(4), "impl=a", 50.0);
  EXPECT_EQ(divide_layer(ResultSet(rows.rows()), spec, {{1 << 20}}).why_not,
            "no time of " + addition.text);

  rows.choice(addition, "impl=add", 7.0);
  const LayerDivision division = divide_layer(ResultSet(rows.rows()), spec, {{1 << 20}});
  EXPECT_EQ(division.parts, 2U) << "two parts need one addition, four need three";
  EXPECT_THAT(keys_of(division), ElementsAre(of(2), of(2), addition));
  EXPECT_NEAR(division.time().count(), 47e-6, 1e-12);

  const std::int64_t results = 8 * 8 * 3 * 3 * 4;  // of one part, in bytes
  EXPECT_EQ(divide_layer(ResultSet(rows.rows()), spec, {{results}}).parts, 2U);
  EXPECT_EQ(divide_layer(ResultSet(rows.rows()), spec, {{results - 1}}).parts, 1U);
}

}  // namespace
}  // namespace plumb::analysis
