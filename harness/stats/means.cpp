// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/means.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numeric>

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

VariancePrior variance_prior(std::span<const TrimmedMean> samples) {
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

TrimmedMean moderated(TrimmedMean sample, const VariancePrior& prior) {
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

}  // namespace plumb::stats
