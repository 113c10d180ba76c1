// SPDX-License-Identifier: Apache-2.0
//
// How often the change-point detector is wrong, how often right, and how long it takes: 1,000
// seeded series a cell. False change points per 1,000 quiet series, and recall within five points
// of a step in the middle; 1,000 series of 500 points, limit 0.3 s on one core.
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "harness/analyze/change_points.hpp"
#include "tests/support/noise_series.hpp"

namespace plumb {
namespace {

constexpr int kSeries = 1000;
constexpr std::pair<Noise, const char*> kNoises[] = {{Noise::kGaussian, "Gaussian"},
                                                     {Noise::kAutocorrelated, "AR(1) 0.5"},
                                                     {Noise::kOutliers, "2% outliers"},
                                                     {Noise::kTwoStates, "two states"}};

/// Returns change points found per series, and the share of series with one at the step.
std::pair<double, double> found(Noise noise, std::size_t length, double sigmas) {
  NoiseSeries source(100 + length);
  double points = 0.0;
  double hits = 0.0;
  const std::size_t step = length / 2;
  for (int i = 0; i < kSeries; ++i) {
    bool hit = false;
    for (const ChangePoint& point :
         detect_changes(source.make(noise, length, sigmas, step)).change_points) {
      points += 1.0;
      hit = hit || (point.index + 5 >= step && point.index <= step + 5);
    }
    hits += hit ? 1.0 : 0.0;
  }
  return {points / kSeries, hits / kSeries};
}

int run() {
  fmt::print("{:12} {:>6} {:>15} {:>12} {:>12}\n",
             "noise",
             "points",
             "false per 1000",
             "recall 1 sd",
             "2.5 sd");
  for (const auto& [noise, name] : kNoises) {
    for (const std::size_t length : {60U, 120U, 500U}) {
      fmt::print("{:12} {:6} {:15.0f} {:12.3f} {:12.3f}\n",
                 name,
                 length,
                 1000.0 * found(noise, length, 0.0).first,
                 found(noise, length, 1.0).second,
                 found(noise, length, 2.5).second);
    }
  }
  std::vector<std::vector<double>> histories;
  NoiseSeries source(1);
  for (int i = 0; i < kSeries; ++i) {
    histories.push_back(source.make(kNoises[i % 4].first, 500, i % 3, 250));
  }
  const auto begin = std::chrono::steady_clock::now();
  std::size_t points = 0;
  for (const std::vector<double>& history : histories) {
    points += detect_changes(history).change_points.size();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print(
      "1,000 series of 500 points: {:.3f} s, {} change points (limit 0.3 s)\n", seconds, points);
  return seconds <= 0.3 ? 0 : 1;
}

}  // namespace
}  // namespace plumb

int main() {
  return plumb::run();
}
