// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "harness/base/encoding.hpp"

namespace plumb {
namespace {

TEST(ShellWord, quotes_only_where_a_shell_would_read_more) {
  EXPECT_EQ(shell_word("suites/quick.toml"), "suites/quick.toml");
  EXPECT_EQ(shell_word("--dim=a:1,2@%+_-"), "--dim=a:1,2@%+_-");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("my model"), "'my model'");
  EXPECT_EQ(shell_word("$(rm x); `y` | z\n"), "'$(rm x); `y` | z\n'");
  EXPECT_EQ(shell_word("~"), "'~'");
}

TEST(ShellWord, joins_the_words_of_a_command) {
  EXPECT_EQ(shell_command(std::vector<std::string>{"plumb", "run", "my suite.toml", ""}),
            "plumb run 'my suite.toml' ''");
  EXPECT_EQ(shell_command({}), "");
}

TEST(ShellWord, keeps_a_quote_inside_of_quotes) {
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("plain"), "'plain'");
}

}  // namespace
}  // namespace plumb
