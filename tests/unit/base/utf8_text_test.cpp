// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/encoding.hpp"

namespace plumb {
namespace {

TEST(Utf8Text, decodes_the_shortest_form_only) {
  EXPECT_EQ(first_code_point("a")->value, 0x61U);
  EXPECT_EQ(first_code_point("模型")->value, 0x6A21U);
  EXPECT_EQ(first_code_point("模型")->bytes, 3U);
  EXPECT_EQ(first_code_point("\xf0\x9f\x93\x8f")->value, 0x1F4CFU);
  for (const char* const broken :
       {"\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\xa8"}) {
    EXPECT_FALSE(first_code_point(broken));
  }
}

TEST(Utf8Text, cuts_between_characters) {
  EXPECT_EQ(whole_characters("a模b", 4), 4U);
  EXPECT_EQ(whole_characters("a模b", 3), 1U);
  EXPECT_EQ(whole_characters("a模b", 9), 5U);
}

}  // namespace
}  // namespace plumb
