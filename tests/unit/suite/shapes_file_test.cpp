// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/suite/suite.hpp"
#include "tests/unit/suite/suite_folder.hpp"

namespace plumb::suite {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kRelu =
    "v1:eltwise;in=f32[1,64,56,56];out=f32[1,64,56,56];acc=f32;math=strict;fn=relu;parameters=[]";

TEST(ShapesFile, reads_keys_and_counts) {
  const SuiteFolder folder;
  const auto file = folder.write("shapes.toml",
                                 "# two rows\n[[layers]]\nkey = \"" + kRelu +
                                     "\"\n\n[[layers]]\nkey = \"" + kRelu + "\"\ncount = 3\n");
  const auto rows = read_shapes(file);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].key.text, kRelu);
  EXPECT_EQ(rows[0].count, 1);
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[1].count, 3);
  EXPECT_EQ(rows[1].line, 5);
}

TEST(ShapesFile, places_a_key_that_does_not_parse) {
  const SuiteFolder folder;
  const auto error = [&](std::string_view text) {
    const auto file = folder.write("shapes.toml", text);
    return user_error(folder, [&] { (void)read_shapes(file); });
  };
  EXPECT_THAT(error("[[layers]]\nkey = \"v1:conw;in=f32[1]\"\n"), StartsWith("shapes.toml:2: "));
  EXPECT_THAT(error("[[layers]]\ncount = 2\n"),
              StartsWith("shapes.toml:1: [[layers]] needs a 'key'"));
  EXPECT_THAT(error("[[layers]]\nkey = \"" + kRelu + "\"\ncount = -1\n"),
              StartsWith("shapes.toml:3: 'count' in [[layers]] is -1"));
  EXPECT_THAT(error("[[layer]]\nkey = \"" + kRelu + "\"\n"), HasSubstr("did you mean 'layers'?"));
}

}  // namespace
}  // namespace plumb::suite
