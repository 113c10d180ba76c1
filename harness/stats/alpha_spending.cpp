// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/alpha_spending.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::stats {
namespace {

constexpr std::size_t kIntervals = 160;  // of Simpson's rule: even
constexpr double kReach = 8.0;           // standard deviations that the density is followed to
constexpr double kMinLevel = 1e-14;
constexpr double kMaxLevel = 0.9;
constexpr std::size_t kLevels = 72;

/// Density of the sum at one look, for sums that no look has rejected yet. The points are
/// equidistant, and the weights include Simpson's coefficients.
struct Density {
  std::vector<double> at;
  std::vector<double> weight;
};

double upper_tail(double z) {
  return boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

double normal_density(double z) {
  return std::exp(-0.5 * z * z) * 0.398942280401432678;
}

/// Samples `density` from far below to `bound`.
template <typename Function>
Density sampled(double deviation, double bound, const Function& density) {
  Density result;
  const double low = -kReach * deviation;
  const double step = (std::max(bound, low) - low) / static_cast<double>(kIntervals);
  for (std::size_t i = 0; i <= kIntervals; ++i) {
    const double simpson = i == 0 || i == kIntervals ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
    result.at.push_back(low + step * static_cast<double>(i));
    result.weight.push_back(density(result.at.back()) * simpson * step / 3.0);
  }
  return result;
}

/// Solves for the bound that the sum exceeds with this probability. `exceeding` falls as the bound
/// rises.
template <typename Function>
double bound_for(double probability, double deviation, const Function& exceeding) {
  std::uintmax_t iterations = 100;
  const auto range = boost::math::tools::toms748_solve(
      [&](double bound) { return exceeding(bound) - probability; },
      -kReach * deviation,
      kReach * deviation,
      boost::math::tools::eps_tolerance<double>(40),
      iterations);
  return (range.first + range.second) / 2.0;
}

}  // namespace

std::vector<double> spending_limits(const std::vector<double>& information, double level) {
  PLUMB_CHECK(!information.empty() && information.front() > 0.0 &&
              std::abs(information.back() - 1.0) < 1e-9 &&
              std::adjacent_find(information.begin(), information.end(), std::greater_equal<>()) ==
                  information.end());
  std::vector<double> result{level * information.front()};
  double deviation = std::sqrt(information.front());
  double bound = deviation * boost::math::quantile(
                                 boost::math::complement(boost::math::normal(), result.front()));
  Density density = sampled(
      deviation, bound, [&](double sum) { return normal_density(sum / deviation) / deviation; });
  for (std::size_t look = 1; look < information.size(); ++look) {
    const double spread = std::sqrt(information[look] - information[look - 1]);
    const double spent = level * (information[look] - information[look - 1]);
    const Density before = std::exchange(density, {});
    const auto exceeding = [&](double at) {
      double sum = 0.0;
      for (std::size_t i = 0; i < before.at.size(); ++i) {
        sum += before.weight[i] * upper_tail((at - before.at[i]) / spread);
      }
      return sum;
    };
    deviation = std::sqrt(information[look]);
    bound = bound_for(spent, deviation, exceeding);
    result.push_back(upper_tail(bound / deviation));
    if (look + 1 < information.size()) {
      // Only sums below the bound reach the next look: the density is cut there and carried on.
      density = sampled(deviation, bound, [&](double sum) {
        double value = 0.0;
        for (std::size_t i = 0; i < before.at.size(); ++i) {
          value += before.weight[i] * normal_density((sum - before.at[i]) / spread) / spread;
        }
        return value;
      });
    }
  }
  return result;
}

AlphaSpending::AlphaSpending(const std::vector<double>& information) {
  const double step = std::log(kMaxLevel / kMinLevel) / static_cast<double>(kLevels - 1);
  for (std::size_t i = 0; i < kLevels; ++i) {
    levels_.push_back(kMinLevel * std::exp(step * static_cast<double>(i)));
    limits_.push_back(spending_limits(information, levels_.back()));
  }
}

double AlphaSpending::total_p(std::size_t look, double p) const {
  PLUMB_CHECK(look < limits_.front().size());
  const auto above = std::upper_bound(
      limits_.begin(), limits_.end(), p, [look](double value, const std::vector<double>& row) {
        return value < row[look];
      });
  if (above == limits_.end()) {
    return 1.0;
  }
  const auto place = static_cast<std::size_t>(above - limits_.begin());
  if (place == 0) {
    // Below the grid, level and limit are taken as proportional.
    return p * levels_.front() / limits_.front()[look];
  }
  const double low = limits_[place - 1][look];
  const double share = std::log(p / low) / std::log((*above)[look] / low);
  return levels_[place - 1] * std::pow(levels_[place] / levels_[place - 1], share);
}

}  // namespace plumb::stats
