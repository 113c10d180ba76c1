// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::suite {
namespace {

TEST(ReusePolicy, parses_the_three_forms) {
  EXPECT_EQ(parse_reuse("never").kind, ResolvedSuite::Reuse::Kind::kNever);
  EXPECT_EQ(parse_reuse("always").kind, ResolvedSuite::Reuse::Kind::kAlways);
  const ResolvedSuite::Reuse week = parse_reuse("max_age:7d");
  EXPECT_EQ(week.kind, ResolvedSuite::Reuse::Kind::kMaxAge);
  EXPECT_EQ(week.max_age.count(), 604800.0);
}

TEST(ReusePolicy, writes_what_it_parses) {
  for (const char* text : {"never",
                           "always",
                           "max_age:7d",
                           "max_age:36h",
                           "max_age:90m",
                           "max_age:45s",
                           "max_age:0.5s"}) {
    EXPECT_EQ(to_text(parse_reuse(text)), text);
  }
  EXPECT_EQ(to_text(parse_reuse("max_age:24h")), "max_age:1d");
}

TEST(ReusePolicy, refuses_anything_else) {
  for (const char* text : {"",
                           "Never",
                           "sometimes",
                           "max_age",
                           "max_age:",
                           "max_age:7",
                           "max_age:-1d",
                           "max_age:0s",
                           "max_age:nans",
                           "max_age:1e400s",
                           "max_age:99999999999999d",
                           "always "}) {
    EXPECT_THROW((void)parse_reuse(text), Error) << text;
  }
}

TEST(Duration, parses_seconds_minutes_hours_and_days) {
  EXPECT_EQ(parse_duration("90s").count(), 90.0);
  EXPECT_EQ(parse_duration("10m").count(), 600.0);
  EXPECT_EQ(parse_duration("2h").count(), 7200.0);
  EXPECT_EQ(parse_duration("7d").count(), 604800.0);
  EXPECT_EQ(parse_duration("1.5h").count(), 5400.0);
  EXPECT_DOUBLE_EQ(parse_duration("15ms").count(), 0.015);
  EXPECT_DOUBLE_EQ(parse_duration("2.5us").count(), 2.5e-6);
}

TEST(Duration, refuses_what_has_no_unit_or_no_number) {
  for (const char* text : {"",
                           "s",
                           "10",
                           "10 m",
                           " 10m",
                           "10min",
                           "-5s",
                           "+5s",
                           "0s",
                           "0x10s",
                           "infs",
                           "nand",
                           "1e3s"}) {
    EXPECT_THROW((void)parse_duration(text), Error) << text;
  }
}

TEST(Duration, names_the_text_and_the_remedy) {
  try {
    (void)parse_duration("10min");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_STREQ(error.what(),
                 "'10min' is not a duration: write a positive number and us, ms, s, m, h or d, "
                 "such as 15ms, 10m or 7d");
  }
}

}  // namespace
}  // namespace plumb::suite
