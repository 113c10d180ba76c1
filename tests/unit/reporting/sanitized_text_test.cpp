// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

TEST(SanitizedText, keeps_text_of_any_language) {
  const std::string text = "plain µ × 漢字 \xf0\x9f\x9a\x80";
  EXPECT_EQ(sanitize_utf8(text), text);
}

TEST(SanitizedText, keeps_control_characters_from_the_terminal) {
  EXPECT_EQ(sanitize_utf8("a\x1b[31mb\nc\x7f"), "a?[31mb?c?");
  EXPECT_EQ(sanitize_utf8("\xc2\x9b"
                          "31m"),
            "?31m")
      << "U+009B starts an escape sequence too";
  EXPECT_EQ(sanitize_utf8("a\xe2\x80\xa8"
                          "b\xe2\x80\xae"
                          "c"),
            "a?b?c");
}

TEST(SanitizedText, has_no_controls_of_direction) {
  for (const std::string control :
       {"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_EQ(sanitize_utf8("a" + control + "b"), "a?b");
  }
}

TEST(SanitizedText, replaces_what_is_not_utf8) {
  EXPECT_EQ(sanitize_utf8("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(sanitize_utf8("\xc3("), "\xef\xbf\xbd(");
  EXPECT_EQ(sanitize_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd") << "cut off";
  EXPECT_EQ(sanitize_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "overlong";
  EXPECT_EQ(sanitize_utf8("\xef\xbf\xbe"), "\xef\xbf\xbd") << "U+FFFE is no character";
}

TEST(EscapedText, is_no_markup_and_one_line) {
  const std::string text = "<a href=\"x\">'&\n\t|`@$_*";
  EXPECT_EQ(escape_xml(text), "&lt;a href=&quot;x&quot;&gt;&apos;&amp;  |`@$_*");
  EXPECT_EQ(markdown_cell(text), "&lt;a href=\"x\"&gt;'&amp;  \\|'&#64;\\$\\_\\*");
}

}  // namespace
}  // namespace plumb::reporting
