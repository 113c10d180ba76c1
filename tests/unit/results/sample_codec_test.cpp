// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::results {
namespace {

std::vector<Seconds> per_execution(const std::vector<double>& nanoseconds, double repetitions) {
  std::vector<Seconds> samples;
  for (const double value : nanoseconds) {
    samples.emplace_back(value * 1e-9 / repetitions);
  }
  return samples;
}

void expect_round_trip(const std::vector<Seconds>& samples, std::int64_t repetitions) {
  const auto decoded = decode_samples(encode_samples(samples, repetitions), repetitions);
  ASSERT_TRUE(decoded.has_value());
  ASSERT_EQ(decoded->size(), samples.size());
  const double allowed = 5.0e-12 / static_cast<double>(repetitions);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_NEAR(
        decoded->at(i).count(), samples[i].count(), allowed + std::abs(samples[i].count()) * 1e-15)
        << i;
  }
}

TEST(SampleCodec, no_samples_are_no_bytes) {
  EXPECT_EQ(encode_samples({}, 1), "");
  const auto decoded = decode_samples("", 1);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(decoded->empty());
}

// 100 ns, 101 ns, 99 ns: 'n', count 3, zigzag(100) = 200 = C8 01, zigzag(1) = 2, zigzag(-2) = 3,
// and the four bytes of the checksum.
TEST(SampleCodec, writes_the_documented_layout) {
  const std::string bytes = encode_samples(per_execution({100, 101, 99}, 1), 1);
  ASSERT_EQ(bytes.size(), 10U);
  EXPECT_EQ(bytes.substr(0, 6), std::string("n\x03\xC8\x01\x02\x03"));
}

TEST(SampleCodec, nanosecond_clocks_are_exact) {
  expect_round_trip(per_execution({1'000'000'007, 999'999'999, 1}, 1), 1);
  expect_round_trip(per_execution({20'001, 20'013, 19'998, 20'001}, 37), 37);
}

TEST(SampleCodec, finer_clocks_keep_ten_picoseconds) {
  expect_round_trip(per_execution({12.34, 12.35, 12.333, 0.004}, 1), 1);
  expect_round_trip(per_execution({1000.57, 1000.112}, 1024), 1024);
}

TEST(SampleCodec, takes_zero_and_negative_slopes) {
  expect_round_trip(per_execution({0, -3.25, 7}, 1), 1);
}

TEST(SampleCodec, spends_about_two_bytes_on_a_sample) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(150'000, 900);
  std::vector<double> nanoseconds;
  for (int i = 0; i < 1000; ++i) {
    nanoseconds.push_back(std::round(noise(random)));
  }
  EXPECT_LT(encode_samples(per_execution(nanoseconds, 1), 1).size(), 2100U);
}

TEST(SampleCodec, refuses_what_is_not_a_time) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {infinity, -infinity, nan, 1e8}) {
    const std::vector<Seconds> samples{Seconds(1.0), Seconds(bad)};
    EXPECT_THROW((void)encode_samples(samples, 1), Error) << bad;
  }
  const std::vector<Seconds> one{Seconds(1.0)};
  EXPECT_THROW((void)encode_samples(one, 0), Error);
}

TEST(SampleCodec, every_truncation_and_every_flipped_bit_is_noticed) {
  const std::string good = encode_samples(per_execution({100, 70'001, 99, 12'345'678}, 3), 3);
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(decode_samples(good.substr(0, size), 3).has_value()) << size;
  }
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(static_cast<unsigned char>(bad[bit / 8]) ^ (1U << (bit % 8)));
    EXPECT_FALSE(decode_samples(bad, 3).has_value()) << bit;
  }
  EXPECT_FALSE(decode_samples(good + '\0', 3).has_value());
  EXPECT_FALSE(decode_samples(good, 0).has_value());
}

// Bytes with a right checksum, as an attacker would make them.
std::string with_checksum(std::string bytes) {
  const std::uint64_t hash = hash64(std::as_bytes(std::span(bytes)));
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>((hash >> shift) & 0xFFU);
  }
  return bytes;
}

TEST(SampleCodec, hostile_bytes_are_refused) {
  const std::string ten_bytes_of_ones(10, '\xFF');
  const std::string largest("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10);
  EXPECT_TRUE(decode_samples(with_checksum(std::string("n\x01\x02", 3)), 1).has_value());
  EXPECT_FALSE(decode_samples(with_checksum(std::string("x\x01\x02", 3)), 1).has_value());
  EXPECT_FALSE(decode_samples(with_checksum(std::string("n\x00\x02", 3)), 1).has_value());
  EXPECT_FALSE(decode_samples(with_checksum("n" + largest + "\x02"), 1).has_value()) << "count";
  EXPECT_FALSE(decode_samples(with_checksum("n\x01" + largest), 1).has_value()) << "overflow";
  EXPECT_FALSE(decode_samples(with_checksum("n\x01" + ten_bytes_of_ones), 1).has_value());
  EXPECT_FALSE(decode_samples(with_checksum(std::string("n\x01\x02\x02", 4)), 1).has_value());
}

}  // namespace
}  // namespace plumb::results
