// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"

namespace plumb::importers {
namespace {

using testing::ElementsAre;

std::vector<std::string> described(std::string_view text) {
  std::vector<std::string> texts;
  for (const NamedCode& code : read_perf_map(text)) {
    texts.push_back(fmt::format("{:x}-{:x} {}", code.begin, code.end, code.name));
  }
  return texts;
}

TEST(PerfMap, names_the_code_of_each_line_by_address) {
  EXPECT_THAT(described("7f00 20 jit_kernel\n0x1000 0x10 name with spaces\n"),
              ElementsAre("1000-1010 name with spaces", "7f00-7f20 jit_kernel"));
}

TEST(PerfMap, later_code_takes_the_place_of_earlier) {
  EXPECT_THAT(described("100 20 first\n120 20 kept\n110 8 second\n"),
              ElementsAre("110-118 second", "120-140 kept"));
}

TEST(PerfMap, leaves_out_lines_of_another_form_and_an_incomplete_last_one) {
  EXPECT_THAT(described("words\n100 0 empty\n100 20\n100 20 \nffffffffffffffff 20 wraps\n"
                        "12345678901234567 20 too large\n-1 2 negative\n\n100 20 kept\n200 20 cut"),
              ElementsAre("100-120 kept"));
}

TEST(PerfMap, long_names_are_cut) {
  const std::string name(2 * kMaxCodeName, 'n');
  EXPECT_EQ(read_perf_map("100 20 " + name + "\n").at(0).name.size(), kMaxCodeName);
}

TEST(PerfMap, a_text_without_functions_is_an_error_of_the_user) {
  for (const char* const text : {"", "words\n", "100 20 no end of the line"}) {
    try {
      static_cast<void>(read_perf_map(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
    }
  }
}

}  // namespace
}  // namespace plumb::importers
