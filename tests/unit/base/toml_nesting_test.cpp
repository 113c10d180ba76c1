// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "harness/base/parsed_text.hpp"

namespace plumb {
namespace {

std::string dotted(std::size_t parts) {
  std::string key = "a";
  for (std::size_t i = 1; i < parts; ++i) {
    key += ".a";
  }
  return key;
}

TEST(TomlNesting, finds_the_line_of_a_deep_key) {
  EXPECT_EQ(find_deep_toml_key(dotted(16) + " = 1\n"), std::nullopt);
  EXPECT_EQ(find_deep_toml_key("x = 1\n" + dotted(17) + " = 1\n"), 2U);
  EXPECT_EQ(find_deep_toml_key("\n\n[" + dotted(31000) + "]\n"), 3U);
  EXPECT_EQ(find_deep_toml_key("[[" + dotted(17) + "]]"), 1U);
  EXPECT_EQ(find_deep_toml_key("x = {" + dotted(17) + " = 1}"), 1U);
  std::string quoted = "\"a b\"";
  for (int i = 0; i < 17; ++i) {
    quoted += " . 'c'";
  }
  EXPECT_EQ(find_deep_toml_key("x = \"\"\"\n\n\"\"\"\n" + quoted + " = 1"), 4U);
}

TEST(TomlNesting, takes_nothing_else_for_a_key) {
  std::string numbers = "x = [";
  for (int i = 0; i < 100; ++i) {
    numbers += "1.5, ";
  }
  EXPECT_EQ(find_deep_toml_key(numbers + "]\n"), std::nullopt);
  const std::string dots(100, '.');
  EXPECT_EQ(find_deep_toml_key("x = \"" + dots + "\\\"" + dots + "\" # " + dots), std::nullopt);
  EXPECT_EQ(find_deep_toml_key("x = '" + dots + "'\n"), std::nullopt);
  EXPECT_EQ(find_deep_toml_key("x = '''\n" + dots + "\n" + dots + "'''\n"), std::nullopt);
  EXPECT_EQ(find_deep_toml_key("x = \"never closed" + dots), std::nullopt);
  EXPECT_EQ(find_deep_toml_key(""), std::nullopt);
}

}  // namespace
}  // namespace plumb
