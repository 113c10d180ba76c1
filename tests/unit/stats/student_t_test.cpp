// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "harness/stats/statistical_tests.hpp"

namespace plumb::stats {
namespace {

TEST(StudentT, is_as_tabulated) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(t_quantile(0.975, 9.0), 2.262157, 1e-6);
  EXPECT_NEAR(t_quantile(0.995, kInfinite), 2.575829, 1e-6);
  EXPECT_NEAR(two_sided_p(2.262157, 9.0), 0.05, 1e-6);
  EXPECT_NEAR(two_sided_p(-1.959964, kInfinite), 0.05, 1e-6);
}

}  // namespace
}  // namespace plumb::stats
