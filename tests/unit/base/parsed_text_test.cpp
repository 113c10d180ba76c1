// SPDX-License-Identifier: Apache-2.0
#include "harness/base/parsed_text.hpp"

#include <gtest/gtest.h>

namespace plumb {
namespace {

enum class Colour { kRed, kGreen };
constexpr std::array<std::string_view, 2> kColours{"red", "green"};

TEST(ParsedText, leads_to_enumerators_and_back) {
  EXPECT_EQ(enum_text(kColours, Colour::kGreen), "green");
  EXPECT_EQ(parse_enum<Colour>(kColours, "green"), Colour::kGreen);
  EXPECT_EQ(parse_enum<Colour>(kColours, "Green"), std::nullopt);
}

TEST(ParsedText, is_a_number_as_a_whole_or_not) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<int>("12 "), std::nullopt);
  EXPECT_EQ(parse_number<int>(""), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
}

}  // namespace
}  // namespace plumb
