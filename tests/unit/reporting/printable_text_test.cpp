// SPDX-License-Identifier: Apache-2.0
#include "reporting/printable_text.hpp"

namespace plumb {
namespace {

TEST(PrintableText, keeps_text_of_any_language) {
  const std::string text = "plain µ × 漢字 \xf0\x9f\x9a\x80";
  EXPECT_EQ(printable(text), text);
}

TEST(PrintableText, keeps_control_characters_from_the_terminal) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"), "a?[31mb?c?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "U+009B starts an escape sequence too";
  EXPECT_EQ(printable("a\xe2\x80\xa8"
                      "b\xe2\x80\xae"
                      "c"),
            "a?b?c");
}

TEST(PrintableText, replaces_what_is_not_utf8) {
  EXPECT_EQ(printable("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(printable("\xc3("), "\xef\xbf\xbd(");
  EXPECT_EQ(printable("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd") << "cut off";
  EXPECT_EQ(printable("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "overlong";
  EXPECT_EQ(printable("\xef\xbf\xbe"), "\xef\xbf\xbd") << "U+FFFE is no character";
}

}  // namespace
}  // namespace plumb
