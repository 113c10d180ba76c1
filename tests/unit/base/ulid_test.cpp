// SPDX-License-Identifier: Apache-2.0
#include "harness/base/ulid.hpp"

#include <gtest/gtest.h>

namespace plumb {
namespace {

std::chrono::system_clock::time_point milliseconds(std::int64_t value) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(value));
}

// The time part of the specification's example, ulid(1469918176385) → "01ARYZ6S41…".
TEST(Ulid, writes_time_as_the_specification_does) {
  EXPECT_EQ(make_ulid(milliseconds(1469918176385), {}), "01ARYZ6S410000000000000000");
  EXPECT_EQ(make_ulid(milliseconds(0), {}), "00000000000000000000000000");
}

// 80 bits: 00000 00100 01000 …, five at a time from the left.
TEST(Ulid, writes_randomness_from_the_left) {
  EXPECT_EQ(make_ulid(milliseconds(0), {0x01, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x1F}),
            "0000000000048000000000000Z");
  std::array<std::uint8_t, 10> ones{};
  ones.fill(0xFF);
  EXPECT_EQ(make_ulid(milliseconds(0), ones), "0000000000ZZZZZZZZZZZZZZZZ");
}

TEST(Ulid, text_sorts_like_time) {
  std::array<std::uint8_t, 10> ones{};
  ones.fill(0xFF);
  EXPECT_LT(make_ulid(milliseconds(1'700'000'000'000), ones),
            make_ulid(milliseconds(1'700'000'000'001), {}));
}

TEST(Ulid, new_ones_differ) {
  const std::string one = new_ulid();
  EXPECT_EQ(one.size(), 26U);
  EXPECT_TRUE(is_ulid_prefix(one));
  EXPECT_NE(one, new_ulid());
}

TEST(Ulid, prefixes_are_known_by_their_letters) {
  EXPECT_TRUE(is_ulid_prefix("01ARYZ"));
  EXPECT_FALSE(is_ulid_prefix(""));
  EXPECT_FALSE(is_ulid_prefix("01ARYI")) << "I, L, O and U are left out of the alphabet";
  EXPECT_FALSE(is_ulid_prefix("01aryz"));
  EXPECT_FALSE(is_ulid_prefix(std::string(27, '0')));
}

}  // namespace
}  // namespace plumb
