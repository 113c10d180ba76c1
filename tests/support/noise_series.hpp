// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace plumb {

/// The four kinds of noise that histories of benchmarks have, 2% each.
enum class Noise { kGaussian, kAutocorrelated, kOutliers, kTwoStates };

/// Makes a seeded history around 100 with a step of `sigmas` deviations (2% each) at `step`.
/// Autocorrelated: AR(1), ρ = 0.5. Outliers: 2% of the points are 10% to 50% higher. Two states: 4%
/// apart, changed with probability 0.2 a point, 0.5% noise within.
class NoiseSeries {
 public:
  explicit NoiseSeries(std::uint64_t seed) : random_(seed) {}

  std::vector<double> make(Noise noise,
                           std::size_t length,
                           double sigmas = 0.0,
                           std::size_t step = 0) {
    constexpr double kDeviation = 0.02;
    std::vector<double> values;
    double last = normal_(random_);
    bool high = uniform_(random_) < 0.5;
    for (std::size_t i = 0; i < length; ++i) {
      double off = kDeviation * normal_(random_);
      if (noise == Noise::kAutocorrelated) {
        last = 0.5 * last + std::sqrt(0.75) * off / kDeviation;
        off = kDeviation * last;
      } else if (noise == Noise::kTwoStates) {
        high = uniform_(random_) < 0.2 ? !high : high;
        off = off / 4.0 + (high ? 0.04 : 0.0);
      }
      double value = 100.0 * (1.0 + off + (i >= step ? sigmas * kDeviation : 0.0));
      if (noise == Noise::kOutliers && uniform_(random_) < 0.02) {
        value *= 1.1 + 0.4 * uniform_(random_);
      }
      values.push_back(value);
    }
    return values;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

}  // namespace plumb
