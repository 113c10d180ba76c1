// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "harness/model/onnx/weights.hpp"

namespace plumb::zoo {
namespace {

TEST(WeightStream, gives_the_published_splitmix64_numbers) {
  model::WeightStream random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
  EXPECT_EQ(random.next(), 4593380528125082431U);
  EXPECT_EQ(random.next(), 16408922859458223821U);
}

TEST(WeightStream, depends_on_the_seed_and_on_the_name) {
  const std::uint64_t first = model::stream_of(1, "a").next();
  EXPECT_EQ(first, model::stream_of(1, "a").next());
  EXPECT_NE(first, model::stream_of(2, "a").next());
  EXPECT_NE(first, model::stream_of(1, "b").next());
}

TEST(WeightStream, draws_normal_numbers_with_the_right_moments) {
  model::WeightStream random(7);
  constexpr int kCount = 200'000;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int i = 0; i < kCount; ++i) {
    const double z = random.normal();
    ASSERT_LT(std::abs(z), 6.0);
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
  }
  // Standard errors: 0.0022 of the mean, 0.0032 of the variance. The fourth moment of a sum of
  // twelve uniforms is 3 − 6 / (5 · 12) = 2.9.
  EXPECT_NEAR(sum / kCount, 0.0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0, 0.015);
  EXPECT_NEAR(fourths / kCount, 2.9, 0.1);
}

TEST(WeightStream, draws_uniform_numbers_below_one) {
  model::WeightStream random(7);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_EQ(u * 65536.0, std::floor(u * 65536.0));
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace plumb::zoo
