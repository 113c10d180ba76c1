// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
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

}  // namespace plumb::analysis
