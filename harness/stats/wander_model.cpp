// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/wander_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/stats/segmentation.hpp"
#include "harness/stats/step_model.hpp"

namespace plumb::stats {
namespace {

constexpr std::array kGains{0.1, 0.2, 0.35, 0.6, 1.0};
constexpr double kParameters = 3.0;  // the first level, the gain and the drift
constexpr double kMinVariance = 1e-12;

/// Returns the errors of predicting each value by smoothing all before it. The first level is the
/// mean of the first values, less the drift.
std::vector<double> compute_innovations(std::span<const double> values, double gain, double drift) {
  std::vector<double> innovations;
  double level = 0.0;
  for (std::size_t i = 0; i < kMinSegment; ++i) {
    level += (values[i] - drift * static_cast<double>(i)) / static_cast<double>(kMinSegment);
  }
  for (const double value : values) {
    innovations.push_back(value - level);
    level += gain * innovations.back() + drift;
  }
  return innovations;
}

double sum_squares(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value * value;
  }
  return sum;
}

}  // namespace

WanderModel fit_wander(std::span<const double> values) {
  const std::size_t n = values.size();
  const auto length = static_cast<double>(n);
  const double unit = compute_unit_penalty(n, 0.0);
  const double drift = (values.back() - values.front()) / (length - 1.0);
  std::vector<double> innovations;
  double gain = 0.0;
  double square = std::numeric_limits<double>::infinity();
  for (const double candidate : kGains) {
    for (const double slope : {0.0, drift}) {
      std::vector<double> errors = compute_innovations(values, candidate, slope);
      const double sum = sum_squares(errors);
      if (sum < square) {
        square = sum;
        gain = candidate;
        innovations = std::move(errors);
      }
    }
  }
  WanderModel model;
  const double decay = 1.0 - gain;
  const double norm = 1.0 - decay * decay;
  std::vector<char> taken(n, 0);
  while (true) {
    // What a jump at each point explains. Its response decays, because the smoothing follows it.
    double response = 0.0;
    double most = 0.0;
    double size = 0.0;
    std::size_t index = 0;
    for (std::size_t i = n; i-- > kMinSegment;) {
      response = innovations[i] + decay * response;
      const double explained = response * response * norm;
      if (explained > most && taken[i] == 0 && i + kMinSegment <= n) {
        most = explained;
        size = response * norm;
        index = i;
      }
    }
    const double rest = std::max(square - most, kMinVariance);
    const double improved = length * std::log(std::max(square, kMinVariance) / rest) - 3.0 * unit;
    if (index == 0 || improved <= 0.0) {
      break;
    }
    model.jumps.push_back({index, improved});
    double left = size;
    for (std::size_t i = index; i < n; ++i, left *= decay) {
      innovations[i] -= left;
    }
    square = sum_squares(innovations);
    const std::size_t first = index - kMinSegment + 1;
    for (std::size_t i = first; i < std::min(n, index + kMinSegment); ++i) {
      taken[i] = 1;
    }
  }
  std::sort(model.jumps.begin(),
            model.jumps.end(),
            [](const WanderModel::Jump& one, const WanderModel::Jump& other) {
              return one.index < other.index;
            });
  model.score = length * std::log(std::max(square, kMinVariance) / length) +
                unit * (kParameters + 3.0 * static_cast<double>(model.jumps.size()));
  return model;
}

}  // namespace plumb::stats
