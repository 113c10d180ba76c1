// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/statistical_tests.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::stats {
namespace {

constexpr double kTrim = 0.1;
constexpr std::size_t kTrimFrom = 5;
constexpr double kManyDegrees = 1e6;  // as good as infinite

/// Solves trigamma(x) = y for x > 0 by Newton's method (Smyth 2004, appendix).
double trigamma_inverse(double y) {
  double x = 0.5 + 1.0 / y;
  for (int i = 0; i < 50; ++i) {
    const double tri = boost::math::trigamma(x);
    const double step = tri * (1.0 - tri / y) / boost::math::polygamma(2, x);
    x += step;
    if (-step / x < 1e-8) {
      break;
    }
  }
  return x;
}

}  // namespace

TrimmedMean trimmed_mean(std::vector<double> values) {
  PLUMB_CHECK(values.size() >= 2);
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  std::size_t cut = static_cast<std::size_t>(kTrim * static_cast<double>(n));
  cut = n >= kTrimFrom ? std::max<std::size_t>(cut, 1) : 0;
  TrimmedMean result;
  result.kept = static_cast<double>(n - 2 * cut);
  result.freedom = result.kept - 1.0;
  result.share = result.kept / static_cast<double>(n);
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto end = values.end() - static_cast<std::ptrdiff_t>(cut);
  result.mean = std::accumulate(begin, end, 0.0) / result.kept;
  std::fill(values.begin(), begin, *begin);
  std::fill(end, values.end(), *(end - 1));
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  double square = 0.0;
  for (const double value : values) {
    square += (value - mean) * (value - mean);
  }
  result.variance = square / result.freedom;  // (n − 1) s_w² ÷ (h − 1)
  return result;
}

TrimmedMean::Prior variance_prior(std::span<const TrimmedMean> samples) {
  std::vector<double> logs;
  double expected_spread = 0.0;
  for (const TrimmedMean& sample : samples) {
    if (sample.variance > 0.0 && sample.freedom > 0.0) {
      const double half = sample.freedom / 2.0;
      // In the mean the logarithm of a sample variance is too low: the digamma term corrects it.
      logs.push_back(std::log(sample.variance / sample.share) - boost::math::digamma(half) +
                     std::log(half));
      expected_spread += boost::math::trigamma(half);
    }
  }
  if (logs.size() < 3) {
    return {};
  }
  const auto n = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
  double spread = 0.0;
  for (const double log : logs) {
    spread += (log - mean) * (log - mean);
  }
  const double surplus = spread / (n - 1.0) - expected_spread / n;
  if (surplus <= 0.0) {
    return {std::exp(mean), std::numeric_limits<double>::infinity()};
  }
  const double half = trigamma_inverse(surplus);
  return {std::exp(mean + boost::math::digamma(half) - std::log(half)), 2.0 * half};
}

TrimmedMean moderated(TrimmedMean sample, const TrimmedMean::Prior& prior) {
  if (prior.freedom > kManyDegrees) {
    sample.variance = prior.variance * sample.share;
    sample.freedom = std::numeric_limits<double>::infinity();
  } else if (prior.freedom > 0.0) {
    const double sum = sample.freedom + prior.freedom;
    sample.variance =
        (sample.freedom * sample.variance + prior.freedom * prior.variance * sample.share) / sum;
    sample.freedom = sum;
  }
  return sample;
}

std::vector<double> false_discovery_q(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return p_values[left] > p_values[right];
  });
  std::vector<double> q(p_values.size());
  double least = 1.0;
  const auto n = static_cast<double>(p_values.size());
  // From the largest p down, so that a smaller p never has a larger q.
  for (std::size_t place = 0; place < order.size(); ++place) {
    const double rank = n - static_cast<double>(place);
    least = std::min(least, p_values[order[place]] * n / rank);
    q[order[place]] = least;
  }
  return q;
}

double two_sided_p(double t, double freedom) {
  if (freedom > kManyDegrees) {
    return 2.0 * boost::math::cdf(boost::math::complement(boost::math::normal(), std::abs(t)));
  }
  return 2.0 *
         boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), std::abs(t)));
}

double t_quantile(double probability, double freedom) {
  return freedom > kManyDegrees
             ? boost::math::quantile(boost::math::normal(), probability)
             : boost::math::quantile(boost::math::students_t(freedom), probability);
}

std::optional<GeometricMean> geometric_mean(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double value : values) {
    PLUMB_CHECK(value > 0.0 && std::isfinite(value));
    sum += std::log(value);
  }
  const double mean = sum / n;
  GeometricMean result{.mean = std::exp(mean), .low = {}, .high = {}, .n = values.size()};
  if (values.size() > 1) {
    double squares = 0.0;
    for (const double value : values) {
      const double distance = std::log(value) - mean;
      squares += distance * distance;
    }
    const double reach = t_quantile(0.975, n - 1.0) * std::sqrt(squares / (n - 1.0) / n);
    result.low = std::exp(mean - reach);
    result.high = std::exp(mean + reach);
  }
  return result;
}

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
