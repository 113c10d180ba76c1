// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/suspicion.hpp"

#include <algorithm>
#include <cmath>

#include "harness/stats/noise_estimate.hpp"

namespace plumb::stats {

std::optional<std::size_t> find_suspicion(std::span<const double> values,
                                          std::size_t begin,
                                          const NoiseFit& noise) {
  constexpr double kOutlier = 4.0;     // deviations that one point may count at most
  constexpr double kSingle = 5.0;      // deviations that make one point alone suspicious
  constexpr double kSuspicious = 3.4;  // standard errors
  const double rho = noise.correlation;
  const double innovation = std::sqrt(noise.variance);
  const double deviation = innovation / std::sqrt(1.0 - rho * rho);
  std::optional<std::size_t> index;
  double most = kSuspicious;
  for (std::size_t count = 1; count < kMinSegment; ++count) {
    if (begin + kMinSegment + count > values.size()) {
      break;
    }
    const std::size_t split = values.size() - count;
    const double level = compute_median(values.subspan(begin, split - begin));
    const auto off = [&](std::size_t i) {
      return std::clamp((values[i] - level) / deviation, -kOutlier, kOutlier) * deviation;
    };
    double sum = 0.0;
    double weights = 0.0;
    double squares = 0.0;
    for (std::size_t i = split; i < values.size(); ++i) {
      const double news = (values[i] - level - rho * off(i - 1)) / innovation;
      const double weight = i == split ? 1.0 : 1.0 - rho;
      sum += weight * (count == 1 ? news : std::clamp(news, -kOutlier, kOutlier));
      weights += weight;
      squares += weight * weight;
    }
    // The level is a mean of autocorrelated points itself, and every innovation has its share.
    const double of_level =
        (1.0 + rho) / (1.0 - rho) / (1.0 - rho * rho) / static_cast<double>(split - begin);
    const double error = std::sqrt(squares + std::pow((1.0 - rho) * weights, 2) * of_level);
    const double z = std::abs(sum) / error;
    if (z > most && (count > 1 || std::abs(sum) > kSingle)) {
      most = z;
      index = split;
    }
  }
  return index;
}

}  // namespace plumb::stats
