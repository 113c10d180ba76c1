// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/loadgen/load_generator.hpp"

namespace plumb::loadgen {
namespace {

std::vector<double> gaps(std::uint64_t seed, double rate, std::size_t count) {
  EffectiveLoad::Arrivals schedule(seed, rate);
  std::vector<double> found;
  auto last = schedule.next();
  for (std::size_t i = 0; i < count; ++i) {
    const auto due = schedule.next();
    found.push_back(std::chrono::duration<double>(due - last).count());
    last = due;
  }
  return found;
}

TEST(ArrivalSchedule, starts_at_once) {
  EXPECT_EQ(EffectiveLoad::Arrivals(1, 100.0).next().count(), 0);
}

TEST(ArrivalSchedule, is_loadgens_for_the_same_seed) {
  // LoadGen draws from std::exponential_distribution over std::mt19937, in libstdc++ below.
  constexpr std::uint64_t kSeed = 16159082839903944936U;  // MLPerf Inference v6.1
  std::mt19937 generator(kSeed & 0xFFFFFFFFU);
  std::exponential_distribution<double> distribution(1234.5);
  EffectiveLoad::Arrivals schedule(kSeed, 1234.5);
  std::chrono::nanoseconds due{};
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(schedule.next(), due) << i;
    due += std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(distribution(generator)));
  }
}

TEST(ArrivalSchedule, ends_where_loadgens_ends) {
  // LoadGen 6.0.17 with this seed at 200 queries/s: 500 queries, generated_query_duration.
  EffectiveLoad::Arrivals schedule(16159082839903944936U, 200.0);
  std::chrono::nanoseconds due{};
  for (int i = 0; i <= 500; ++i) {
    due = schedule.next();
  }
  EXPECT_EQ(due.count(), 2'602'165'778);
}

TEST(ArrivalSchedule, gaps_are_exponential) {
  // Kolmogorov-Smirnov against 1 - exp(-rate t): 1.63/√n is passed in 99% of such samples, and this
  // one is always the same.
  std::vector<double> sample = gaps(42, 500.0, 20'000);
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double expected = 1.0 - std::exp(-500.0 * sample[i]);
    distance = std::max({distance,
                         std::abs(expected - static_cast<double>(i) / n),
                         std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  EXPECT_LT(distance, 1.63 / std::sqrt(n));
}

TEST(ArrivalSchedule, does_not_drift) {
  EffectiveLoad::Arrivals schedule(7, 1000.0);
  std::chrono::nanoseconds last{};
  for (int i = 0; i < 1'000'000; ++i) {
    last = schedule.next();
  }
  EXPECT_NEAR(
      std::chrono::duration<double>(last).count(), 1000.0, 4.0);  // four standard deviations
}

}  // namespace
}  // namespace plumb::loadgen
