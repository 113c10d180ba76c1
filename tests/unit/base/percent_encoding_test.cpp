// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/encoding.hpp"

namespace plumb {
namespace {

using ::testing::Optional;

TEST(PercentEncoding, leaves_the_unreserved_as_they_are) {
  EXPECT_EQ(percent_encoded("aZ09-_.~"), "aZ09-_.~");
  EXPECT_EQ(percent_encoded("a/b c"), "a%2Fb%20c");
  EXPECT_EQ(percent_encoded("\xff\n"), "%FF%0A");
}

TEST(PercentEncoding, comes_back) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  EXPECT_THAT(percent_decoded(percent_encoded(all)), Optional(all));
  EXPECT_THAT(percent_decoded("%c3%BC+"), Optional(std::string("ü+")));
}

TEST(PercentEncoding, refuses_wrong_escapes) {
  for (const char* const text : {"%", "%4", "%4g", "%g4", "a%", "%-1", "% 1"}) {
    EXPECT_FALSE(percent_decoded(text)) << text;
  }
}

}  // namespace
}  // namespace plumb
