// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/number_formats.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(NumberFormats, rounds_bf16_ties_to_even) {
  EXPECT_EQ(bf16_from(1.0F), 0x3F80);
  EXPECT_EQ(bf16_from(1.0F + 0x1p-8F), 0x3F80);             // tie, even below
  EXPECT_EQ(bf16_from(1.0F + 3 * 0x1p-8F), 0x3F82);         // tie, even above
  EXPECT_EQ(bf16_from(1.0F + 0x1p-8F + 0x1p-20F), 0x3F81);  // above the tie
  EXPECT_EQ(bf16_from(-2.5F), 0xC020);
  EXPECT_EQ(bf16_from(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from(std::nanf("")))));
}

TEST(NumberFormats, rounds_f16_as_ieee_binary16) {
  EXPECT_EQ(f16_from(1.0F), 0x3C00);
  EXPECT_EQ(f16_from(-2.0F), 0xC000);
  EXPECT_EQ(f16_from(65504.0F), 0x7BFF);
  EXPECT_EQ(f16_from(65519.0F), 0x7BFF);
  EXPECT_EQ(f16_from(65520.0F), 0x7C00);
  EXPECT_EQ(f16_from(-kInfinity), 0xFC00);
  EXPECT_EQ(f16_from(0x1p-14F), 0x0400);
  EXPECT_EQ(f16_from(0x1p-24F), 0x0001);
  EXPECT_EQ(f16_from(0x1p-25F), 0x0000);             // tie, even below
  EXPECT_EQ(f16_from(0x1.8p-24F), 0x0002);           // tie, even above
  EXPECT_EQ(f16_from(0x1p-14F - 0x1p-26F), 0x0400);  // rounds up into the normals
  EXPECT_EQ(f16_from(1.0F + 0x1p-11F), 0x3C00);      // tie, even below
  EXPECT_EQ(f16_from(1.0F + 3 * 0x1p-11F), 0x3C02);  // tie, even above
  EXPECT_EQ(f16_from(-0.0F), 0x8000);
  EXPECT_TRUE(std::isnan(float_from_f16(f16_from(std::nanf("")))));
}

TEST(NumberFormats, gives_back_every_16_bit_value) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    if (!std::isnan(float_from_f16(narrow))) {
      ASSERT_EQ(f16_from(float_from_f16(narrow)), narrow);
    }
    if (!std::isnan(float_from_bf16(narrow))) {
      ASSERT_EQ(bf16_from(float_from_bf16(narrow)), narrow);
    }
  }
}

TEST(NumberFormats, rounds_a_double_once) {
  // Just above a tie of bf16 by less than a float can hold: twice rounded it would fall to 1.
  const double above_tie = 1.0 + 0x1p-8 + 0x1p-40;
  const Tensor tensor = tensor_from({DataType::kBf16, {1}}, std::vector{above_tie});
  EXPECT_EQ(tensor.as<std::uint16_t>()[0], 0x3F81);
  EXPECT_EQ(float_rounded_to_odd(0.5), 0.5F);
}

TEST(NumberFormats, wraps_integers_and_reads_them_back) {
  const std::vector<double> numbers{255.0, 256.0, -1.0, 3.9, -3.9};
  const Tensor bytes = tensor_from({DataType::kU8, {5}}, numbers);
  EXPECT_EQ(numbers_of(bytes), (std::vector<double>{255, 0, 255, 3, 253}));
  const Tensor flags = tensor_from({DataType::kBool, {3}}, std::vector{0.0, 0.5, -2.0});
  EXPECT_EQ(numbers_of(flags), (std::vector<double>{0, 1, 1}));
  const Tensor ends = tensor_from({DataType::kS64, {3}}, std::vector{1e300, -1e300, std::nan("")});
  EXPECT_EQ(ends.as<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ends.as<std::int64_t>()[1], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(ends.as<std::int64_t>()[2], 0);
  EXPECT_EQ(number_at(bytes, 4), 253.0);
}

TEST(NumberFormats, refuses_short_data_and_unknown_types) {
  EXPECT_THROW((void)numbers_of(Tensor{{DataType::kF32, {4}}, std::vector<std::byte>(15)}), Error);
  EXPECT_THROW((void)numbers_of(Tensor{{DataType::kString, {1}}, {}}), Error);
  EXPECT_FALSE(is_number(DataType::kF8E4M3));
}

}  // namespace
}  // namespace plumb
