// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/two_levels.hpp"

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace plumb::stats {
namespace {

constexpr std::size_t kMinProcesses = 8;
constexpr std::size_t kMinAtLevel = 2;
const double kMinDistance = std::log(1.10);
constexpr double kMinDeviations = 8.0;

/// Division of sorted values into two parts.
struct Division {
  std::size_t first_high = 0;
  double low = 0.0;
  double high = 0.0;
  double squares = std::numeric_limits<double>::infinity();  ///< within the parts
};

Division best_division(std::span<const double> sorted) {
  // Sums are taken about the middle value. Squares of small differences of large numbers then stay
  // exact.
  const double origin = sorted[sorted.size() / 2];
  const auto n = static_cast<double>(sorted.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : sorted) {
    sum += value - origin;
    squares += (value - origin) * (value - origin);
  }
  Division best;
  double low_sum = 0.0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    low_sum += sorted[i - 1] - origin;
    if (i < kMinAtLevel || sorted.size() - i < kMinAtLevel) {
      continue;
    }
    const auto below = static_cast<double>(i);
    const double high_sum = sum - low_sum;
    const double within = squares - low_sum * low_sum / below - high_sum * high_sum / (n - below);
    if (within < best.squares) {
      best = {i, origin + low_sum / below, origin + high_sum / (n - below), within};
    }
  }
  return best;
}

/// Returns whether runs had processes at both levels, rather than a step between two runs.
bool is_mixed_within_runs(std::span<const std::vector<double>> runs, const TwoLevels& levels) {
  std::size_t mixed = 0;
  for (const std::vector<double>& run : runs) {
    const LevelCount count = levels.count(run);
    const std::size_t fewer = std::min(count.low, count.high);
    mixed += std::min(fewer, kMinAtLevel);
  }
  return mixed >= kMinAtLevel;
}

}  // namespace

LevelCount TwoLevels::count(std::span<const double> logs) const {
  LevelCount result;
  for (const double log : logs) {
    ++(log < between ? result.low : result.high);
  }
  return result;
}

std::optional<TwoLevels> find_two_levels(std::span<const std::vector<double>> runs) {
  std::vector<double> sorted;
  for (const std::vector<double>& run : runs) {
    sorted.insert(sorted.end(), run.begin(), run.end());
  }
  if (sorted.size() < kMinProcesses) {
    return std::nullopt;
  }
  std::sort(sorted.begin(), sorted.end());
  const Division division = best_division(sorted);
  const double distance = division.high - division.low;
  const double deviation =
      std::sqrt(std::max(division.squares, 0.0) / static_cast<double>(sorted.size() - 2));
  if (!(distance >= kMinDistance && distance >= kMinDeviations * deviation)) {
    return std::nullopt;
  }
  const TwoLevels levels{
      division.low,
      division.high,
      std::midpoint(sorted[division.first_high - 1], sorted[division.first_high]),
      {division.first_high, sorted.size() - division.first_high}};
  return is_mixed_within_runs(runs, levels) ? std::optional(levels) : std::nullopt;
}

double shares_p(const LevelCount& baseline, const LevelCount& candidate) {
  const auto drawn = static_cast<unsigned>(baseline.low + baseline.high);
  const auto low = static_cast<unsigned>(baseline.low + candidate.low);
  const auto all = drawn + static_cast<unsigned>(candidate.low + candidate.high);
  const boost::math::hypergeometric_distribution<double> tables(low, drawn, all);
  const double seen = boost::math::pdf(tables, static_cast<unsigned>(baseline.low));
  double p = 0.0;
  for (unsigned count = drawn + low > all ? drawn + low - all : 0; count <= std::min(drawn, low);
       ++count) {
    const double probability = boost::math::pdf(tables, count);
    // Equally likely tables count, whatever the last bit of the two probabilities.
    p += probability <= seen * (1.0 + 1e-9) ? probability : 0.0;
  }
  return std::min(p, 1.0);
}

}  // namespace plumb::stats
