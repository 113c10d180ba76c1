// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace plumb {

/// Kinds of noise that the detector is tuned and checked with.
enum class NoiseFamily {
  kGaussian,
  kAutocorrelated,   ///< AR(1), ρ = 0.5
  kOutliers,         ///< 2% of the points are 5 to 25 deviations higher
  kSkewed,           ///< gamma of shape 4
  kHeteroscedastic,  ///< the deviation doubles from the first point to the last
  kTwoStates         ///< two states two deviations apart, left with probability 0.2 a point
};
inline constexpr std::array kNoiseFamilies{NoiseFamily::kGaussian,
                                           NoiseFamily::kAutocorrelated,
                                           NoiseFamily::kOutliers,
                                           NoiseFamily::kSkewed,
                                           NoiseFamily::kHeteroscedastic,
                                           NoiseFamily::kTwoStates};
inline constexpr std::array<std::string_view, kNoiseFamilies.size()> kNoiseFamilyNames{
    "Gaussian", "AR(1) 0.5", "2% outliers", "skewed", "heteroscedastic", "two states"};

/// Where the level of a series goes.
enum class StepPattern { kUp, kDown, kBack };
inline constexpr std::array kStepPatterns{StepPattern::kUp, StepPattern::kDown, StepPattern::kBack};

/// Deviation of the noise, relative to the level.
inline constexpr double kFamilyDeviation = 0.02;

/// Seeded draws of noise. Tuning takes even seeds, checks take odd ones.
class SeriesFamily {
 public:
  SeriesFamily(NoiseFamily family, std::uint64_t seed) : family_(family), random_(seed) {}

  /// Draws noise of deviation one (outliers and heteroscedasticity come on top).
  std::vector<double> draw(std::size_t length) {
    std::vector<double> noise;
    double last = normal_(random_);
    bool high = uniform_(random_) < 0.5;
    for (std::size_t i = 0; i < length; ++i) {
      double value = normal_(random_);
      switch (family_) {
        case NoiseFamily::kGaussian:
          break;
        case NoiseFamily::kAutocorrelated:
          value = last = 0.5 * last + std::sqrt(0.75) * value;
          break;
        case NoiseFamily::kOutliers:
          value += uniform_(random_) < 0.02 ? 5.0 + 20.0 * uniform_(random_) : 0.0;
          break;
        case NoiseFamily::kSkewed:
          value = (gamma_(random_) - 4.0) / 2.0;
          break;
        case NoiseFamily::kHeteroscedastic:
          value *= 2.0 * (1.0 + static_cast<double>(i) / static_cast<double>(length)) / 3.0;
          break;
        case NoiseFamily::kTwoStates:
          high = uniform_(random_) < 0.2 ? !high : high;
          value = value / 4.0 + (high ? 1.0 : -1.0);
          break;
      }
      noise.push_back(value);
    }
    return noise;
  }

 private:
  NoiseFamily family_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::gamma_distribution<double> gamma_{4.0, 1.0};
};

/// Returns the first points of the levels of `steps` equal steps: segments of like length.
inline std::vector<std::size_t> step_places(std::size_t length, std::size_t steps) {
  std::vector<std::size_t> places;
  for (std::size_t k = 1; k <= steps; ++k) {
    places.push_back(length * k / (steps + 1));
  }
  return places;
}

/// Returns a history around 100: the noise, 2% of the level, and steps of `deviations` of it.
inline std::vector<double> with_steps(const std::vector<double>& noise,
                                      const std::vector<std::size_t>& places,
                                      StepPattern pattern,
                                      double deviations) {
  const double factor = 1.0 + deviations * kFamilyDeviation;
  std::vector<double> values;
  double level = 100.0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    if (next < places.size() && i == places[next]) {
      const bool up =
          pattern == StepPattern::kUp || (pattern == StepPattern::kBack && next % 2 == 0);
      level = up ? level * factor : level / factor;
      ++next;
    }
    values.push_back(level * (1.0 + kFamilyDeviation * noise[i]));
  }
  return values;
}

/// Returns noise on a straight line that rises by `rise` of the level from end to end.
inline std::vector<double> with_drift(const std::vector<double>& noise, double rise) {
  std::vector<double> values;
  const auto length = static_cast<double>(noise.size());
  for (std::size_t i = 0; i < noise.size(); ++i) {
    values.push_back(100.0 * (1.0 + rise * static_cast<double>(i) / length) *
                     (1.0 + kFamilyDeviation * noise[i]));
  }
  return values;
}

}  // namespace plumb
