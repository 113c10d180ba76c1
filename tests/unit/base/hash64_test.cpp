// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "harness/base/digest.hpp"

namespace plumb {
namespace {

std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0) {
  return hash64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

// Published values of XXH64.
TEST(Hash64, is_xxh64) {
  EXPECT_EQ(hash_of(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(hash_of("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(hash_of("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(hash_of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

TEST(Hash64, depends_on_the_seed) {
  EXPECT_NE(hash_of("abc", 1), hash_of("abc"));
}

}  // namespace
}  // namespace plumb
