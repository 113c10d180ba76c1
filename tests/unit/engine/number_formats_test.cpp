// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/number_formats.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/base/error.hpp"

namespace plumb::engine {
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
  const model::Tensor tensor = tensor_from({model::DataType::kBf16, {1}}, std::vector{above_tie});
  EXPECT_EQ(tensor.as<std::uint16_t>()[0], 0x3F81);
  EXPECT_EQ(float_rounded_to_odd(0.5), 0.5F);
}

TEST(NumberFormats, wraps_integers_and_reads_them_back) {
  const std::vector<double> numbers{255.0, 256.0, -1.0, 3.9, -3.9};
  const model::Tensor bytes = tensor_from({model::DataType::kU8, {5}}, numbers);
  EXPECT_EQ(read_numbers(bytes), (std::vector<double>{255, 0, 255, 3, 253}));
  const model::Tensor flags =
      tensor_from({model::DataType::kBool, {3}}, std::vector{0.0, 0.5, -2.0});
  EXPECT_EQ(read_numbers(flags), (std::vector<double>{0, 1, 1}));
  const model::Tensor ends =
      tensor_from({model::DataType::kS64, {3}}, std::vector{1e300, -1e300, std::nan("")});
  EXPECT_EQ(ends.as<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ends.as<std::int64_t>()[1], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(ends.as<std::int64_t>()[2], 0);
  EXPECT_EQ(number_at(bytes, 4), 253.0);
  std::vector<double> last(2);
  read_numbers(bytes, 3, last);
  EXPECT_EQ(last, (std::vector<double>{3, 253}));
  EXPECT_THROW(read_numbers(bytes, 4, last), Error);
}

TEST(NumberFormats, refuses_short_data_and_unknown_types) {
  EXPECT_THROW(
      (void)read_numbers(model::Tensor{{model::DataType::kF32, {4}}, std::vector<std::byte>(15)}),
      Error);
  EXPECT_THROW((void)read_numbers(model::Tensor{{model::DataType::kString, {1}}, {}}), Error);
  EXPECT_FALSE(is_number(model::DataType::kString));
}

// Codes and values of OFP8 (revision 1.0), tables 1 and 2.
TEST(NumberFormats, rounds_to_e4m3_as_ofp8_has_it) {
  const auto from = [](float value) { return f8_from(model::DataType::kF8E4M3, value); };
  EXPECT_EQ(from(1.0F), 0x38);
  EXPECT_EQ(from(-448.0F), 0xFE);
  EXPECT_EQ(from(1e9F), 0x7E) << "the largest";
  EXPECT_EQ(from(std::numeric_limits<float>::infinity()), 0x7E);
  EXPECT_EQ(from(std::nanf("")), 0x7F);
  EXPECT_EQ(from(1.0F + 0x1p-4F), 0x38) << "a tie, even below";
  EXPECT_EQ(from(1.0F + 3 * 0x1p-4F), 0x3A) << "a tie, even above";
  EXPECT_EQ(from(1.99F), 0x40) << "up to the next power of two";
  EXPECT_EQ(from(0x1p-6F), 0x08) << "the smallest normal";
  EXPECT_EQ(from(0x1p-6F - 0x1p-20F), 0x08) << "a subnormal that rounds up to it";
  EXPECT_EQ(from(-0x1p-9F), 0x81) << "the smallest";
  EXPECT_EQ(from(0x1p-10F), 0x00) << "a tie, to zero";
  EXPECT_EQ(from(0x1.8p-9F), 0x02) << "a tie, to two";
  EXPECT_EQ(from(1e-30F), 0x00);
  EXPECT_EQ(float_from_f8(model::DataType::kF8E4M3, 0x07), 0.875F * 0x1p-6F)
      << "the largest subnormal";
  EXPECT_TRUE(std::isnan(float_from_f8(model::DataType::kF8E4M3, 0xFF)));
}

TEST(NumberFormats, rounds_to_e5m2_as_ofp8_has_it) {
  const auto from = [](float value) { return f8_from(model::DataType::kF8E5M2, value); };
  EXPECT_EQ(from(1.0F), 0x3C);
  EXPECT_EQ(from(57344.0F), 0x7B);
  EXPECT_EQ(from(-1e9F), 0xFB);
  EXPECT_EQ(from(-0.0F), 0x80);
  EXPECT_EQ(from(0x1p-14F), 0x04) << "the smallest normal";
  EXPECT_EQ(from(0x1p-16F), 0x01) << "the smallest";
  EXPECT_EQ(from(0x1p-17F), 0x00) << "a tie, to zero";
  EXPECT_EQ(from(1.0F + 0x1p-3F), 0x3C) << "a tie, even below";
  EXPECT_EQ(float_from_f8(model::DataType::kF8E5M2, 0x03), 0.75F * 0x1p-14F)
      << "the largest subnormal";
  EXPECT_TRUE(std::isinf(float_from_f8(model::DataType::kF8E5M2, 0x7C)));
  EXPECT_TRUE(std::isnan(float_from_f8(model::DataType::kF8E5M2, 0x7D)));
}

/// Lists an 8-bit type's finite numbers of one sign: codes from zero on ascend.
std::vector<double> finite_f8(model::DataType type) {
  std::vector<double> numbers;
  for (std::uint8_t bits = 0; bits < 0x80; ++bits) {
    const double number = static_cast<double>(float_from_f8(type, bits));
    if (std::isfinite(number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

TEST(NumberFormats, rounds_to_the_nearer_of_any_two_8_bit_floats) {
  for (const model::DataType type : {model::DataType::kF8E4M3, model::DataType::kF8E5M2}) {
    const std::vector<double> numbers = finite_f8(type);
    ASSERT_EQ(numbers.size(), type == model::DataType::kF8E4M3 ? 127U : 124U);
    model::Tensor tensor{{type, {6}, false, {}}, std::vector<std::byte>(6)};
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      const double middle = (numbers[i] + numbers[i + 1]) / 2;
      // Nearer than a float tells: rounded once.
      const std::vector<double> values{numbers[i],
                                       middle * (1 - 0x1p-40),
                                       middle,
                                       middle * (1 + 0x1p-40),
                                       -numbers[i + 1],
                                       -middle};
      write_numbers(tensor, 0, values);
      const double even = numbers[i % 2 == 0 ? i : i + 1];
      EXPECT_EQ(read_numbers(tensor),
                (std::vector<double>{
                    numbers[i], numbers[i], even, numbers[i + 1], -numbers[i + 1], -even}))
          << to_text(type) << " " << numbers[i];
    }
  }
}

}  // namespace
}  // namespace plumb::engine
