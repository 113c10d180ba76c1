// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/terminal/terminal.hpp"

namespace plumb::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(MessageLine, is_one_line_that_drives_no_terminal) {
  EXPECT_EQ(terminal::message_line("model 'a\nb': \x1b[31mred\x07 \u202e\xff µ\n"),
            "model 'a b': ?[31mred? ?\xef\xbf\xbd µ");
  EXPECT_EQ(terminal::message_line(""), "");
}

TEST(MessageLine, shows_the_beginning_of_long_quoted_text) {
  const std::string name(500, 'x');
  EXPECT_EQ(terminal::message_line("no '" + name + "' there"), "no '" + name + "' there");
  EXPECT_EQ(terminal::message_line("no '" + name + "yyy' there"), "no '" + name + "…' there");
  EXPECT_EQ(terminal::message_line("the run's '" + name + "yyy': it's 'z'"),
            "the run's '" + name + "…': it's 'z'");
  EXPECT_EQ(terminal::message_line("'" + name + "yyy"), "'" + name + "…") << "without an end";
}

TEST(MessageLine, cuts_no_character) {
  std::string name = "x";
  while (name.size() < 5'000) {
    name += "µ";
  }
  EXPECT_EQ(terminal::message_line("'" + name + "'"), "'" + name.substr(0, 499) + "…'");
  const std::string line = terminal::message_line(name);
  EXPECT_EQ(line, terminal::message_line(line)) << "it is valid UTF-8";
}

TEST(MessageLine, has_an_end_where_there_is_no_quote) {
  const std::string line = terminal::message_line("begin " + std::string(1'000'000, 'x') + " end");
  EXPECT_LT(line.size(), 4'100U);
  EXPECT_THAT(line, StartsWith("begin "));
  EXPECT_THAT(line, HasSubstr("bytes left out"));
  EXPECT_THAT(line, EndsWith(" end"));
}

TEST(MessageLine, does_not_name_the_exceptions_of_a_library) {
  EXPECT_EQ(terminal::message_line(
                "'f' is no JSON: [json.exception.parse_error.101] parse error at line 1"),
            "'f' is no JSON: parse error at line 1");
}

}  // namespace
}  // namespace plumb::cli
