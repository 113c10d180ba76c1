// SPDX-License-Identifier: Apache-2.0
//
// How often the change-point detector is wrong, how often right, and how long it takes: 1,000
// seeded series a cell. False change points per 1,000 quiet series, and recall within five points
// of a step in the middle; 1,000 series of 500 points, limit 0.3 s on one core. Replayed run by run
// (each history judged anew after every run, from 50 runs to 300): false alarms per 1,000 runs and
// series, limit 1; a step of 2.5 deviations with three points after it: found as a suspicion in
// half of the cases at least. Creep: false per 1,000 series, and how often 10% over 120 runs is
// found.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>

#include "harness/analyze/change_points.hpp"
#include "harness/analyze/creep.hpp"
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

/// Returns false alarms and false suspicions per 1,000 runs and series of a quiet replay. A change
/// point within five points of a known one is no new alarm.
std::pair<double, double> replayed(Noise noise) {
  constexpr int kReplayed = 60;
  constexpr std::size_t kShortest = 50;
  constexpr std::size_t kLongest = 300;
  NoiseSeries source(17);
  double alarms = 0.0;
  double suspicions = 0.0;
  double runs = 0.0;
  for (int series = 0; series < kReplayed; ++series) {
    const std::vector<double> values = source.make(noise, kLongest);
    std::vector<std::size_t> known;
    for (std::size_t length = kShortest; length <= kLongest; ++length) {
      const Detection detection = detect_changes(std::span(values.data(), length));
      for (const ChangePoint& point : detection.change_points) {
        if (std::none_of(known.begin(), known.end(), [&](std::size_t index) {
              return point.index + 5 >= index && point.index <= index + 5;
            })) {
          known.push_back(point.index);
          alarms += 1.0;
        }
      }
      suspicions += static_cast<double>(detection.suspicions.size());
      runs += 1.0;
    }
  }
  return {1000.0 * alarms / runs, 1000.0 * suspicions / runs};
}

/// Returns the share of series whose step, three points before the end, is a suspicion.
double suspected(Noise noise) {
  constexpr std::size_t kStep = 100;
  NoiseSeries source(13);
  int hits = 0;
  for (int i = 0; i < kSeries; ++i) {
    for (const Suspicion& suspicion :
         detect_changes(source.make(noise, kStep + 3, 2.5, kStep)).suspicions) {
      hits += suspicion.index + 1 >= kStep ? 1 : 0;
    }
  }
  return static_cast<double>(hits) / kSeries;
}

/// Returns the share of series of 120 points, rising by `rise` from end to end, in which creep is
/// found; noise divided by `quieter`.
double creeping(Noise noise, double rise, double quieter) {
  constexpr std::size_t kLength = 120;
  NoiseSeries source(19);
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> values = source.make(noise, kLength);
    for (std::size_t k = 0; k < kLength; ++k) {
      values[k] = (100.0 + (values[k] - 100.0) / quieter) *
                  (1.0 + rise * static_cast<double>(k) / static_cast<double>(kLength));
    }
    found += find_creep(values) ? 1 : 0;
  }
  return static_cast<double>(found) / kSeries;
}

/// Prints what a history says as it grows; returns whether the promises hold in Gaussian noise.
bool run_replays() {
  fmt::print("\n{:12} {:>16} {:>19} {:>16} {:>12} {:>14}\n",
             "noise",
             "alarms per 1000",
             "suspicions per 1000",
             "3 points after",
             "false creep",
             "10% in 120 (1%)");
  bool kept = true;
  for (const auto& [noise, name] : kNoises) {
    const auto [alarms, suspicions] = replayed(noise);
    const double found_early = suspected(noise);
    fmt::print("{:12} {:16.2f} {:19.1f} {:16.3f} {:12.0f} {:14.3f}\n",
               name,
               alarms,
               suspicions,
               found_early,
               1000.0 * creeping(noise, 0.0, 1.0),
               creeping(noise, 0.1, 2.0));
    kept = kept && (noise != Noise::kGaussian || (alarms <= 1.0 && found_early >= 0.5));
  }
  return kept;
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
  const bool kept = run_replays();
  return seconds <= 0.3 && kept ? 0 : 1;
}

}  // namespace
}  // namespace plumb

int main() {
  return plumb::run();
}
