// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "harness/base/units.hpp"

namespace plumb {
namespace {

TEST(SaturatingSum, ends_at_the_limits_of_the_type) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(saturating_sum<std::int64_t>(2, 3), 5);
  EXPECT_EQ(saturating_sum<std::int64_t>(kMost, 1), kMost);
  EXPECT_EQ(saturating_sum<std::int64_t>(kMost - 1, 1), kMost);
  EXPECT_EQ(saturating_sum<std::int64_t>(kLeast, -1), kLeast);
  EXPECT_EQ(saturating_sum<std::int64_t>(kLeast, kMost), -1);
}

}  // namespace
}  // namespace plumb
