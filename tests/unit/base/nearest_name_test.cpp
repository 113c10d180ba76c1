// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "harness/base/name_match.hpp"

namespace plumb {
namespace {

TEST(NearestName, counts_edits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // Levenshtein's own example of three edits
  EXPECT_EQ(edit_distance("saturday", "sunday"), 3U);
  EXPECT_EQ(edit_distance("dtyp", "dtype"), 1U);
  EXPECT_EQ(edit_distance("nmae", "name"), 2U);  // a swap is two substitutions
}

TEST(NearestName, takes_the_first_of_equals) {
  const std::array<std::string_view, 3> names{"batch", "dtype", "cache"};
  EXPECT_EQ(nearest_name("dtyp", names), "dtype");
  EXPECT_EQ(nearest_name("atch", std::vector<std::string>{"catch", "batch"}), "catch");
}

TEST(NearestName, has_no_answer_without_candidates) {
  EXPECT_EQ(nearest_name("x", std::vector<std::string_view>{}), std::nullopt);
}

TEST(NearestName, bounds_the_work_on_hostile_names) {
  const std::array<std::string_view, 2> names{"name", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
  EXPECT_EQ(nearest_name(std::string(10'000'000, 'a'), names), names[1]);
}

}  // namespace
}  // namespace plumb
