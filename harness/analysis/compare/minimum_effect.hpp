// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::analysis {

/// Times of a run's restarted processes, by series.
struct RunTimes {
  /// ln(median in seconds) of each quiet process, by series: "layers/KEY" as the library chose it,
  /// hot, "models/SUBJECT/end_to_end/MODE/SCENARIO" or "models/SUBJECT/alternation/MODE/TURN".
  std::map<std::string, std::vector<double>> logs;
};

/// Noise of a series between runs of unchanged code.
struct RunDeviation {
  double relative = 0.0;  ///< standard deviation of a run's ln(time), beside its processes' scatter
  double freedom = 0.0;   ///< degrees of freedom
  bool learned = false;   ///< from runs; else assumed
};

/// Noise between runs of one environment, learned from its history.
///
/// For each series it takes the differences of runs up to five apart, of neighbours only below ten
/// runs. The median of their squares counts, so that a step in the history is one difference among
/// many. The variance that the scatter between processes explains is subtracted. The rest is shrunk
/// towards the noise of all series of its kind, and that towards an assumed value. Each prior is
/// worth kPriorFreedom degrees of freedom (empirical Bayes: Efron and Morris, JASA 70, 1975).
/// docs/reference/statistics.md has the formulas.
class LearnedNoise {
 public:
  LearnedNoise() = default;
  /// Learns from `runs` of one environment, oldest first.
  explicit LearnedNoise(std::span<const RunTimes> runs);

  [[nodiscard]] RunDeviation of(const std::string& series) const;
  /// Returns ln(time) of a series' processes, one vector per run, oldest first.
  [[nodiscard]] std::span<const std::vector<double>> processes(const std::string& series) const;
  /// Returns the number of runs from which it was learned.
  [[nodiscard]] std::size_t runs() const { return runs_; }

  static constexpr double kAssumed = 0.009;  ///< deviation between runs, with nothing known
  static constexpr double kPriorFreedom = 3.0;
  static constexpr std::size_t kMinRuns = 3;  ///< from which on noise counts as learned

 private:
  struct Estimate {
    double variance = 0.0;
    double freedom = 0.0;
  };
  std::size_t runs_ = 0;
  std::map<std::string, std::vector<std::vector<double>>> processes_;
  std::map<std::string, Estimate> series_;
  std::map<std::string, Estimate> kinds_;  ///< "layers", "models", or a turn among other shapes
};

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
