// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/encoding.hpp"

namespace plumb {
namespace {

TEST(JsonText, writes_whatever_the_bytes) {
  EXPECT_EQ(json_text(nlohmann::json("\xff")), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_text(nlohmann::json("caf\xc3\xa9")), "\"caf\xc3\xa9\"");
  EXPECT_EQ(json_text(nlohmann::json{1, 2}, 1), "[\n 1,\n 2\n]");
}

}  // namespace
}  // namespace plumb
