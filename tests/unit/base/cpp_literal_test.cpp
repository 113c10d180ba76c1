// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/encoding.hpp"

namespace plumb {
namespace {

TEST(CppLiteral, leaves_nothing_that_ends_the_literal_or_the_line) {
  EXPECT_EQ(cpp_literal("v1:conv;in=f32[1,2]"), "\"v1:conv;in=f32[1,2]\"");
  EXPECT_EQ(cpp_literal("a\"b\\c\nd"), R"("a\"b\\c\012d")");
  EXPECT_EQ(cpp_literal("?"
                        "?/"),
            R"("\077\077/")");
  EXPECT_EQ(cpp_literal("\xC3\xA9"
                        "1"),
            R"("\303\2511")");
  EXPECT_EQ(cpp_literal(std::string_view("\0", 1)), R"("\000")");
}

}  // namespace
}  // namespace plumb
