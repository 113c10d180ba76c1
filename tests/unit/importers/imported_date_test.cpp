// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "harness/importers/imported_run.hpp"

namespace plumb::importers {
namespace {

std::string read(const std::string& text) {
  const auto date = parse_imported_date(text);
  return date ? to_text(date->time) + (date->has_zone ? "" : " no zone") : "no time";
}

TEST(ImportedDate, reads_the_forms_that_tools_write) {
  EXPECT_EQ(read("2026-11-21T03:04:05+02:00"), "2026-11-21T01:04:05.000000Z");
  EXPECT_EQ(read("2026-11-21T03:04:05.25Z"), "2026-11-21T03:04:05.250000Z");
  EXPECT_EQ(read("2026-11-21T03:04:05.1234567Z"), "2026-11-21T03:04:05.123456Z");
  EXPECT_EQ(read("2019-05-03 14:05:17"), "2019-05-03T14:05:17.000000Z no zone");
  EXPECT_EQ(read("2016/08/02-14:05:17"), "2016-08-02T14:05:17.000000Z no zone");
  EXPECT_EQ(read("2021.01.01 3:00:00 +0100"), "2021-01-01T02:00:00.000000Z");
  EXPECT_EQ(read("2021-01-01 03:00 UTC"), "2021-01-01T03:00:00.000000Z");
  EXPECT_EQ(read("1600000000"), "2020-09-13T12:26:40.000000Z");
  EXPECT_EQ(read("1600000000123"), "2020-09-13T12:26:40.123000Z");
}

TEST(ImportedDate, anything_else_is_no_time) {
  for (const char* const text : {"",
                                 "yesterday",
                                 "2019-13-03 14:05:17",
                                 "2019-05-03",
                                 "2019-05.03 14:05",
                                 "2026-11-21T03:04:05+99:00",
                                 "2026-11-21T03:04:05 CET",
                                 "2026-11-21T03:04:05.Z",
                                 "12",
                                 "99999999999999999999"}) {
    EXPECT_EQ(read(text), "no time") << text;
  }
}

}  // namespace
}  // namespace plumb::importers
