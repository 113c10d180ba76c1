// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "harness/loadgen/load_settings.hpp"

namespace plumb::loadgen {
namespace {

constexpr std::array<std::uint64_t, 9> kOver{0, 1, 2, 3, 5, 10, 20, 50, 100};

struct Row {
  double percentile;
  std::array<std::uint64_t, 9> queries;
};
// What LoadGen 6.0.17 computes; an independent sum of binomial terms gives the same.
constexpr std::array<Row, 5> kOracle{{
    {90.0, {44, 64, 81, 97, 127, 197, 325, 681, 1246}},
    {95.0, {90, 130, 165, 198, 259, 398, 656, 1372, 2504}},
    {97.0, {152, 219, 277, 332, 433, 667, 1097, 2293, 4182}},
    {99.0, {459, 662, 838, 1001, 1307, 2010, 3304, 6898, 12571}},
    {99.9, {4603, 6636, 8403, 10042, 13105, 20140, 33097, 69058, 125826}},
}};

TEST(EarlyStopping, needs_the_queries_that_mlperf_needs) {
  for (const Row& row : kOracle) {
    for (std::size_t i = 0; i < kOver.size(); ++i) {
      EXPECT_EQ(queries_needed({row.percentile, 0.99}, kOver[i]), row.queries[i])
          << row.percentile << " % with " << kOver[i] << " over";
    }
  }
}

TEST(EarlyStopping, rank_is_the_last_that_the_queries_allow) {
  for (const Row& row : kOracle) {
    for (std::size_t i = 1; i < kOver.size(); ++i) {
      const EffectiveLoad::ConfidenceRule rule{row.percentile, 0.99};
      EXPECT_EQ(estimate_rank(rule, row.queries[i]), kOver[i]);
      const auto one_less = estimate_rank(rule, row.queries[i] - 1);
      EXPECT_EQ(one_less.value_or(0), kOver[i] - 1) << row.percentile << " % " << kOver[i];
    }
  }
}

TEST(EarlyStopping, drops_as_many_as_mlperf_does) {
  EXPECT_EQ(estimate_rank({90.0, 0.99}, 1000), 77 + 1);
  EXPECT_EQ(estimate_rank({90.0, 0.99}, 24'576), 2347 + 1);
  EXPECT_EQ(estimate_rank({99.0, 0.99}, 270'336), 2582 + 1);
}

TEST(EarlyStopping, agrees_with_what_loadgen_printed) {
  // LoadGen 6.0.17: single_stream with 1,254 queries; server with 60 of 500 queries over the limit.
  EXPECT_EQ(estimate_rank({90.0, 0.99}, 1254), 99 + 1);
  EXPECT_EQ(queries_needed({99.0, 0.99}, 60), 500 + 7553);
}

TEST(EarlyStopping, too_few_queries_have_no_estimate) {
  EXPECT_EQ(estimate_rank({90.0, 0.99}, 0), std::nullopt);
  EXPECT_EQ(estimate_rank({90.0, 0.99}, 1), std::nullopt);
  EXPECT_EQ(estimate_rank({90.0, 0.99}, 63), std::nullopt);
}

TEST(EarlyStopping, agrees_with_a_plain_binomial_sum_at_other_confidences) {
  const auto at_most = [](std::uint64_t n, std::uint64_t over, double q) {
    double sum = 0.0;
    for (std::uint64_t k = 0; k <= over; ++k) {
      const auto a = static_cast<double>(n);
      const auto b = static_cast<double>(k);
      sum += std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) +
                      b * std::log(q) + (a - b) * std::log1p(-q));
    }
    return sum;
  };
  for (const double confidence : {0.8, 0.95, 0.999}) {
    for (const std::uint64_t over : {0U, 4U, 17U}) {
      const std::uint64_t n = queries_needed({97.0, confidence}, over);
      EXPECT_LT(at_most(n, over, 0.03), 1.0 - confidence);
      EXPECT_GE(at_most(n - 1, over, 0.03), 1.0 - confidence);
    }
  }
}

TEST(EarlyStopping, fraction_has_no_rounding_of_its_own) {
  EXPECT_EQ(fraction_of(99.9), 0.999);
  EXPECT_EQ(fraction_of(90.0), 0.9);
  EXPECT_EQ(fraction_of(50.0), 0.5);
}

}  // namespace
}  // namespace plumb::loadgen
