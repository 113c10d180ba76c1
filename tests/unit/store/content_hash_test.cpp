// SPDX-License-Identifier: Apache-2.0
#include "harness/store/content_hash.hpp"

#include <gtest/gtest.h>

namespace plumb::store {
namespace {

// From xxHash's own sanity checks and documentation, seed 0.
TEST(ContentHash, is_xxh64_of_the_bytes) {
  EXPECT_EQ(ContentHash().value(), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(ContentHash().bytes("a").value(), 0xD24EC4F1A98C6E5BULL);
  EXPECT_EQ(ContentHash().bytes("ab").bytes("c").value(), 0x44BC2CF5AD770999ULL);
}

TEST(ContentHash, values_are_little_endian_words_and_texts_have_their_length) {
  const std::string number("\x05\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(ContentHash().add(std::int64_t{5}).value(), ContentHash().bytes(number).value());
  EXPECT_EQ(ContentHash().add(std::string_view("hello")).value(),
            ContentHash().bytes(number).bytes("hello").value());
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
}  // namespace plumb::store
