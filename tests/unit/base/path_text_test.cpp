// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/encoding.hpp"

namespace plumb {
namespace {

TEST(PathText, leaves_utf8_as_it_is) {
  for (const char* const text :
       {"", "mine.onnx", "/a b/über/模型.onnx", "\xf0\x9f\x93\x8f", "\x7f"}) {
    EXPECT_EQ(path_text(text), text);
    EXPECT_EQ(path_from_text(text), text);
  }
}

TEST(PathText, makes_every_name_valid_and_finds_it_again) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) {
    every.push_back(static_cast<char>(byte));
  }
  const std::string names[] = {every,
                               "caf\xe9.onnx",
                               "\xff",
                               "cut \xe6\xa8",              // two bytes of three
                               "\xc0\xaf",                  // an overlong slash
                               "\xed\xa0\x80",              // a surrogate
                               "\xf4\x90\x80\x80",          // beyond U+10FFFF
                               "\xef\x9e\x80\xef\x9f\xbf",  // U+F780 and U+F7FF themselves
                               "\xef\x9e\x80\xff and \xef\x9d\xbf"};
  for (const std::string& name : names) {
    const std::string text = path_text(name);
    EXPECT_NO_THROW(static_cast<void>(nlohmann::json(text).dump())) << testing::PrintToString(name);
    EXPECT_EQ(path_from_text(text).native(), name);
  }
  EXPECT_NE(path_text("a\xe8"), path_text("a\xe9"));
}

}  // namespace
}  // namespace plumb
