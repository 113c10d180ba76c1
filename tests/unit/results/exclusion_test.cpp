// SPDX-License-Identifier: Apache-2.0
#include "harness/results/exclusion.hpp"

#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::results {
namespace {

TEST(Exclusion, covers_what_its_pattern_matches_until_its_last_day) {
  const std::vector<Exclusion> exclusions{{"lenet|*", "retired", "us", "2027-01-31"}};
  const std::string series = "models/lenet|1|f32|/end_to_end/plain/single_stream";
  EXPECT_EQ(find_exclusion(exclusions, case_names(series)), exclusions.data());
  EXPECT_EQ(find_exclusion(exclusions, case_names("layers/v1:relu")), nullptr);
  EXPECT_TRUE(exclusions[0].holds_on("2027-01-31"));
  EXPECT_FALSE(exclusions[0].holds_on("2027-02-01"));
}

TEST(Exclusion, is_read_back_and_refused_where_it_is_none) {
  const std::vector<Exclusion> exclusions{{"a*", "why", "", "2027-01-31"},
                                          {"b", "because", "me", "2026-01-31"}};
  EXPECT_EQ(exclusions_from_json(to_json(exclusions)), exclusions);
  EXPECT_THROW(static_cast<void>(exclusions_from_json("{}")), Error);
  EXPECT_THROW(static_cast<void>(exclusions_from_json(R"({"exclusions":[{"case":"a"}]})")), Error);
}

TEST(Exclusion, knows_a_day) {
  EXPECT_TRUE(is_day("2027-01-31"));
  for (const char* const text : {"2027-13-01", "2027-1-1", "tomorrow", "2027-01-32", ""}) {
    EXPECT_FALSE(is_day(text)) << text;
  }
}

}  // namespace
}  // namespace plumb::results
