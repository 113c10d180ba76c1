// SPDX-License-Identifier: Apache-2.0
#include "harness/store/content_hash.hpp"

#include <gtest/gtest.h>

namespace plumb {
namespace {

// The vectors of the authors' test_fnv.c, FNV-1a, 64 bits.
TEST(ContentHash, matches_the_published_vectors) {
  EXPECT_EQ(ContentHash().value(), 0xcbf29ce484222325ULL);
  EXPECT_EQ(ContentHash().bytes("a").value(), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(ContentHash().bytes("foobar").value(), 0x85944171f73967e8ULL);
}

TEST(ContentHash, values_do_not_run_into_each_other) {
  const auto pair = [](std::string_view a, std::string_view b) {
    return ContentHash().add(a).add(b).value();
  };
  EXPECT_NE(pair("ab", "c"), pair("a", "bc"));
  EXPECT_NE(ContentHash().add(std::optional<double>()).add(1.0).value(),
            ContentHash().add(std::optional<double>(1.0)).value());
  EXPECT_NE(ContentHash().add(0.0).value(), ContentHash().add(-0.0).value());
}

}  // namespace
}  // namespace plumb
