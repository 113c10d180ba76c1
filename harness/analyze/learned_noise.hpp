// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace plumb {

/// What the restarted processes of one run say of each series.
struct RunTimes {
  /// ln(median) of each quiet process, by series: "layers/KEY" as the library chose it, hot;
  /// "models/SUBJECT/end_to_end/MODE/SCENARIO".
  std::map<std::string, std::vector<double>> logs;
};

/// How much a series differs between runs of unchanged code.
struct RunDeviation {
  double relative = 0.0;  ///< standard deviation of a run's ln(time), beside its processes' scatter
  double freedom = 0.0;   ///< degrees that it is worth
  bool learned = false;   ///< from runs; else assumed
};

/// The noise between runs of one environment, as its history shows it.
///
/// Of each series the differences of runs side by side are looked at, by their median square and by
/// their 80th percentile, whichever says more. A step in the history counts as one difference among
/// many in both. What scatter between processes
/// explains is taken off. The rest is shrunk towards what all series of its kind have in common,
/// and that towards an assumed value, each prior being worth kPriorFreedom degrees (empirical
/// Bayes: Efron and Morris, JASA 70, 1975).
class LearnedNoise {
 public:
  LearnedNoise() = default;
  /// `runs`: of one environment, oldest first.
  explicit LearnedNoise(std::span<const RunTimes> runs);

  [[nodiscard]] RunDeviation of(const std::string& series) const;
  /// Returns ln(time) of a series' processes, one vector a run, oldest first.
  [[nodiscard]] std::span<const std::vector<double>> processes(const std::string& series) const;
  /// Counts the runs that it was learned from.
  [[nodiscard]] std::size_t runs() const { return runs_; }

  static constexpr double kAssumed = 0.009;  ///< deviation between runs, with nothing known
  static constexpr double kPriorFreedom = 3.0;
  static constexpr std::size_t kMinRuns = 3;  ///< from which noise counts as learned

 private:
  struct Estimate {
    double variance = 0.0;
    double freedom = 0.0;
  };
  std::size_t runs_ = 0;
  std::map<std::string, std::vector<std::vector<double>>> processes_;
  std::map<std::string, Estimate> series_;
  std::map<std::string, Estimate> kinds_;  ///< "layers", "models"
};

}  // namespace plumb
