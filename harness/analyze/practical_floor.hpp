// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analyze/learned_noise.hpp"

namespace plumb {

/// Sources of the size below which a change counts as none.
enum class FloorSource {
  kFixed,       ///< by the rule alone, or by the user
  kCalibrated,  ///< from the series' own noise, which `plumb calibrate` measured
  kLearned,     ///< from the series' runs in this environment
  kAssumed,     ///< no calibration of the series in this environment, and too few runs
};
[[nodiscard]] std::string_view to_text(FloorSource source);

/// Relative change below which a metric counts as unchanged.
struct PracticalFloor {
  double relative = 0.0;
  FloorSource source = FloorSource::kFixed;
};

/// Relative noise of one series, as a calibration found it.
struct CalibratedNoise {
  double process = 0.0;  ///< standard deviation of one process's median
  double floor = 0.0;    ///< 2%, three of these deviations, or the timer's tick ÷ executions
};

/// Calibration results for the environments that are compared.
struct CalibratedFloors {
  std::map<std::string, CalibratedNoise> series;  ///< "layers/KEY", "models/…/end_to_end/…"
  std::vector<std::string> runs;                  ///< first run of each calibration used
  LearnedNoise learned;                           ///< from the runs of both environments
  /// Takes in another environment's: of a series in both the larger values hold.
  void join(const CalibratedFloors& other);
};

inline constexpr double kLeastLayerFloor = 0.02;
inline constexpr double kEndToEndFloor = 0.01;

/// Returns the smallest change of a metric that counts between two runs that several processes
/// timed: the larger of `least`, what its calibration says, and two deviations of the difference of
/// two runs.
[[nodiscard]] PracticalFloor run_floor(const CalibratedFloors& floors,
                                       const std::string& series,
                                       double least);

/// Returns a layer's floor: the larger of `least`, 2% and what its calibration says, or, without
/// one, three of the `assumed` deviations of a process.
[[nodiscard]] PracticalFloor layer_floor(const CalibratedFloors& floors,
                                         const std::string& series,
                                         double least,
                                         double assumed);

}  // namespace plumb
