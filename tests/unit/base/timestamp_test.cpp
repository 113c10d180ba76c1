// SPDX-License-Identifier: Apache-2.0
#include "harness/base/timestamp.hpp"

#include <gtest/gtest.h>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

std::int64_t micros(std::string_view text) {
  return parse_timestamp(text).time_since_epoch().count();
}

TEST(Timestamp, is_microseconds_since_1970) {
  EXPECT_EQ(micros("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(micros("2001-09-09T01:46:40Z"), 1'000'000'000'000'000);
  EXPECT_EQ(micros("2026-11-21T01:02:03.000004Z"), 1'795'222'923'000'004);
  EXPECT_EQ(micros("1969-12-31T23:59:59.5Z"), -500'000);
  EXPECT_EQ(micros("1970-01-01T00:00:00.1234564999Z"), 123'456);
  EXPECT_EQ(micros("1970-01-01T00:00:00.9999995Z"), 1'000'000);
  EXPECT_EQ(micros("2016-12-31T23:59:60Z"), micros("2017-01-01T00:00:00Z")) << "a leap second";
}

TEST(Timestamp, knows_leap_days) {
  EXPECT_EQ(micros("2024-03-01T00:00:00Z") - micros("2024-02-29T00:00:00Z"), 86'400'000'000);
  EXPECT_THROW((void)parse_timestamp("2026-02-29T00:00:00Z"), Error);
}

TEST(Timestamp, every_microsecond_reads_back) {
  for (const std::int64_t value : {std::int64_t{0},
                                   std::int64_t{1},
                                   std::int64_t{999'999},
                                   std::int64_t{1'795'222'923'100'003},
                                   std::int64_t{-1}}) {
    const Timestamp time{std::chrono::microseconds(value)};
    EXPECT_EQ(parse_timestamp(to_text(time)), time) << to_text(time);
  }
  EXPECT_EQ(to_text(Timestamp(std::chrono::microseconds(4))), "1970-01-01T00:00:00.000004Z");
}

TEST(Timestamp, what_is_not_one_is_refused) {
  for (const char* const bad : {"",
                                "now",
                                "2026-11-21",
                                "2026-11-21T01:02:03",
                                "2026-11-21T01:02:03+01:00",
                                "2026-13-21T01:02:03Z",
                                "2026-11-31T01:02:03Z",
                                "2026-11-21T24:02:03Z",
                                "2026-11-21T01:60:03Z",
                                "2026-11-21T01:02:61Z",
                                "2026-11-21T01:02:-3Z",
                                "2026-11-21T01:02:nanZ",
                                "2026-11-21T01:02:0x3Z",
                                "2026-11-21T01:02:3e1Z",
                                "2026-11-21T01:02:03Zx",
                                "2026-11-21 01:02:03Z",
                                " 2026-11-21T01:02:03Z",
                                "2026-+1-21T01:02:03Z",
                                "-001-11-21T01:02:03Z",
                                "2026-11-21T01:02:03.Z"}) {
    EXPECT_THROW((void)parse_timestamp(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace plumb
