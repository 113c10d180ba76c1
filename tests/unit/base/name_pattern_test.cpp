// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "harness/base/name_match.hpp"

namespace plumb {
namespace {

TEST(NamePattern, matches_patterns_with_stars) {
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("v1:conv;*", "v1:conv;in=f32[1,3]"));
  EXPECT_TRUE(matches_pattern("*in=f32[1,*]*group=1*", "v1:conv;in=f32[1,3,2];group=1;pads=[0]"));
  EXPECT_TRUE(matches_pattern("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches_pattern("v1:conv;*", "v1:conv_transpose;in=f32[1,3]"));
  EXPECT_FALSE(matches_pattern("a*b", "a-b-c"));
  EXPECT_FALSE(matches_pattern("", "a"));
}

TEST(NamePattern, stays_fast_on_patterns_made_to_be_slow) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) {
    pattern += "*a";
  }
  EXPECT_FALSE(matches_pattern(pattern + "b", std::string(20'000, 'a')));
}

}  // namespace
}  // namespace plumb
