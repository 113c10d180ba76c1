// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/timestamp.hpp"

namespace plumb {
namespace {

using namespace std::chrono_literals;

TEST(WorkClock, goes_on_from_its_begin_whatever_the_time_of_day_says) {
  const WorkClock clock;
  const Timestamp first = clock.now();
  EXPECT_GE(first, clock.begin());
  EXPECT_LT(first, clock.begin() + 10s);
  EXPECT_GE(clock.now(), first);
  EXPECT_NEAR(clock.set_by(clock.now() - 3600s).count(), -3600.0, 5.0);
  EXPECT_NEAR(clock.set_by(clock.now() + 60s).count(), 60.0, 5.0);
}

TEST(Elapsed, is_unknown_where_the_end_lies_before_the_begin) {
  const Timestamp begin = parse_timestamp("2026-01-01T00:00:10Z");
  EXPECT_EQ(elapsed(begin, begin + 5s)->count(), 5.0);
  EXPECT_EQ(elapsed(begin, begin)->count(), 0.0);
  EXPECT_EQ(elapsed(begin, begin - 1us), std::nullopt);
}

}  // namespace
}  // namespace plumb
