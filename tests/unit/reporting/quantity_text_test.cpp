// SPDX-License-Identifier: Apache-2.0
#include <clocale>
#include <span>
#include <vector>

#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

TEST(QuantityText, chooses_the_unit_of_a_time) {
  EXPECT_EQ(time_text(Seconds(1.2345)), "1.234 s");
  EXPECT_EQ(time_text(Seconds(0.0123456)), "12.35 ms");
  EXPECT_EQ(time_text(Seconds(123.456e-6)), "123.5 µs");
  EXPECT_EQ(time_text(Seconds(5e-9)), "5.000 ns");
  EXPECT_EQ(time_text(Seconds(0)), "0.000 ns");
}

TEST(QuantityText, adds_half_the_interval_to_a_time) {
  EXPECT_EQ(with_interval(Seconds(1e-3), {Seconds(0.98e-3), Seconds(1.02e-3)}), "1.000 ms ± 2.0 %");
  EXPECT_EQ(with_interval(Seconds(0), {}), "0.000 ns");
}

TEST(QuantityText, one_sample_has_no_interval) {
  const std::vector<Seconds> samples{Seconds(1e-3), Seconds(1e-3)};
  EXPECT_EQ(with_interval(measure::summarize(samples)), "1.000 ms ± 0.0 %");
  EXPECT_EQ(with_interval(measure::summarize(std::span(samples).first(1))), "1.000 ms");
  EXPECT_EQ(with_interval(measure::SampleSummary{}), "–");
}

TEST(QuantityText, writes_shares_in_percent) {
  EXPECT_EQ(share_text(0.1234), "12.3 %");
  EXPECT_EQ(share_text(0.1234, 2), "12.34 %");
  EXPECT_EQ(share_text(0.1234, 0), "12 %");
  EXPECT_EQ(signed_share_text(0.0), "+0.0 %");
  EXPECT_EQ(signed_share_text(-0.004), "−0.4 %");
}

TEST(QuantityText, writes_bytes_in_powers_of_two_and_counts_in_powers_of_ten) {
  EXPECT_EQ(bytes_text(Bytes{1023}), "1023 B");
  EXPECT_EQ(bytes_text(Bytes{1536}), "1.5 KiB");
  EXPECT_EQ(bytes_text(Bytes{std::int64_t{97} << 20}), "97.0 MiB");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(3.858e9), "3.858 G");
}

TEST(QuantityText, writes_ages_in_whole_units) {
  EXPECT_EQ(duration_text(Seconds(45)), "45 s");
  EXPECT_EQ(duration_text(Seconds(600)), "10 min");
  EXPECT_EQ(duration_text(Seconds(3 * 86400)), "3 d");
}

TEST(QuantityText, does_not_follow_the_locale) {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    GTEST_SKIP() << "the locale de_DE.UTF-8 is not installed";
  }
  EXPECT_EQ(time_text(Seconds(1.5)), "1.500 s");
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace plumb::reporting
