// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/extent_range.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::suite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::int64_t> extents(std::string_view text) {
  std::vector<std::int64_t> values;
  for (const ExtentRange& range : parse_ranges(text, "--dim s", 1'000'000)) {
    const std::vector<std::int64_t> more = expand(range, "--dim s");
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

std::string error_of(std::string_view text) {
  try {
    (void)extents(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser) << text;
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown for " << text;
  return "";
}

TEST(ExtentRange, lists_numbers_and_ranges_of_an_option) {
  EXPECT_THAT(extents("384"), ElementsAre(384));
  EXPECT_THAT(extents("1,8"), ElementsAre(1, 8));
  EXPECT_THAT(extents("128..1024"), ElementsAre(128, 256, 512, 1024));
  EXPECT_THAT(extents("64..300:+64"), ElementsAre(64, 128, 192, 256));
  EXPECT_THAT(extents("1,2..20:x3,7"), ElementsAre(1, 2, 6, 18, 7));
}

TEST(ExtentRange, takes_what_a_suite_says) {
  EXPECT_THAT(extents("{from = 128, to = 1024, step = \"x2\"}"), ElementsAre(128, 256, 512, 1024));
  EXPECT_THAT(extents("{from=1,to=3,step=\"+1\"}"), ElementsAre(1, 2, 3));
  EXPECT_THAT(extents("[1, {from = 8, to = 16}]"), ElementsAre(1, 8, 16));
  EXPECT_THAT(extents("1, {from = 8, to = 16}"), ElementsAre(1, 8, 16));
}

TEST(ExtentRange, refuses_everything_else_by_the_option_s_name) {
  for (const char* const text : {"",
                                 ",",
                                 "1,",
                                 "0",
                                 "-1",
                                 "1e3",
                                 "1.5",
                                 "1000001",
                                 "99999999999999999999",
                                 "8..4",
                                 "1..",
                                 "..4",
                                 "1...4",
                                 "a"}) {
    EXPECT_THAT(error_of(text), StartsWith("--dim s: '")) << text;
  }
  EXPECT_THAT(error_of("1..8:3"), AllOf(HasSubstr("step '3'"), HasSubstr("--dim s")));
  EXPECT_THAT(error_of("1..8:"), HasSubstr("step ''"));
  EXPECT_THAT(error_of("{from = 8, to = 4}"), HasSubstr("'to' must not be less"));
  EXPECT_THAT(error_of("{form = 8, to = 4}"), HasSubstr("did you mean 'from'?"));
  EXPECT_THAT(error_of("{from = 8"), HasSubstr("--dim s"));
  EXPECT_THAT(error_of("[]"), HasSubstr("empty list"));
  EXPECT_THAT(error_of("[1]\nother = [2]"), HasSubstr("one line"));
  EXPECT_THAT(error_of("1..1000000:+1"), HasSubstr("more than 10000 entries"));
}

}  // namespace
}  // namespace plumb::suite
