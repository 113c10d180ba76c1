// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/learned_noise.hpp"

namespace plumb::analysis {

/// Source of a minimum effect, the size below which a change counts as none.
enum class FloorSource {
  kFixed,       ///< by the rule alone, or by the user
  kCalibrated,  ///< from the series' own noise, which `plumb calibrate` measured
  kLearned,     ///< from the series' runs in this environment
  kAssumed,     ///< no calibration of the series in this environment, and too few runs
};
[[nodiscard]] std::string_view to_text(FloorSource source);

/// Relative change below which a metric counts as unchanged.
struct MinimumEffect {
  double relative = 0.0;
  FloorSource source = FloorSource::kFixed;
};

/// Calibration results for the environments that are compared.
struct CalibratedFloors {
  /// Relative noise of one series, as a calibration found it.
  struct Noise {
    double process = 0.0;  ///< standard deviation of one process's median
    double floor = 0.0;    ///< 2%, three of these deviations, or the timer's tick ÷ executions
  };

  std::map<std::string, Noise> series;  ///< "layers/KEY", "models/…/end_to_end/…"
  std::vector<std::string> runs;        ///< first run of each calibration used
  LearnedNoise learned;                 ///< from the runs of both environments
  /// Adds another environment's floors. For a series in both, the larger values hold.
  void join(const CalibratedFloors& other);
};

inline constexpr double kMinLayerFloor = 0.02;
inline constexpr double kEndToEndFloor = 0.01;

/// Returns the minimum effect between two runs that several processes timed. It is the largest of
/// `least`, what the series' calibration found, and two deviations of the difference of two runs.
/// If there is a calibration, the deviations count only where they were learned.
[[nodiscard]] MinimumEffect run_floor(const CalibratedFloors& floors,
                                      const std::string& series,
                                      double least);

/// Returns the minimum effect of a layer: the largest of `least`, 2% and what its calibration
/// found. Without a calibration, three of the `assumed` deviations of a process take its place.
[[nodiscard]] MinimumEffect layer_floor(const CalibratedFloors& floors,
                                        const std::string& series,
                                        double least,
                                        double assumed);

}  // namespace plumb::analysis
