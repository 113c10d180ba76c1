// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

using Paths = std::vector<std::filesystem::path>;

TEST(PathList, splits_and_joins_at_colons) {
  EXPECT_EQ(split_paths("/a/b:/c d:e"), (Paths{"/a/b", "/c d", "e"}));
  EXPECT_EQ(join_paths({"/a/b", "/c d", "e"}), "/a/b:/c d:e");
}

TEST(PathList, leaves_empty_entries_out) {
  EXPECT_EQ(split_paths(""), Paths{});
  EXPECT_EQ(split_paths("::/a::"), Paths{"/a"});
  EXPECT_EQ(join_paths({}), "");
}

TEST(PathList, refuses_a_path_with_a_colon) {
  EXPECT_THROW((void)join_paths({"/a", "/b:c"}), Error);
}

}  // namespace
}  // namespace plumb::worker
