// SPDX-License-Identifier: Apache-2.0
#include "harness/base/units.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace plumb {
namespace {

TEST(Units, amounts_over_rates_are_times) {
  EXPECT_DOUBLE_EQ((Bytes{1'000'000} / BytesPerSecond{2e9}).count(), 0.0005);
  EXPECT_DOUBLE_EQ((Flops{3e9} / FlopsPerSecond{1.5e12}).count(), 0.002);
}

TEST(Units, add_and_scale_like_numbers) {
  Bytes total{3};
  total += Bytes{4};
  EXPECT_EQ(total, Bytes{7});
  EXPECT_EQ(Bytes{3} + Bytes{4} * 10, Bytes{43});
  EXPECT_LT(Bytes{3}, Bytes{4});
}

template <typename Left, typename Right>
concept Addable = requires(Left left, Right right) {
  left + right;
};

TEST(Units, unlike_units_do_not_add) {
  EXPECT_TRUE((Addable<Bytes, Bytes>));
  EXPECT_FALSE((Addable<Bytes, Flops>));
  EXPECT_FALSE((Addable<Bytes, int>));
}

}  // namespace
}  // namespace plumb
