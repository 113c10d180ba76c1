// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Deviation of a time between two processes, estimated from a run itself. It compares the times of
/// one variant in several processes: the one that raced it and the fresh one that confirmed it, or
/// restarted ones.
struct ProcessDeviation {
  /// Knowledge about the noise of a metric other than its processes.
  struct KnownNoise {
    stats::TrimmedMean::Prior processes =
        {};                             ///< of its scatter, from other metrics of the comparison
    LearnedNoise::Deviation runs = {};  ///< noise between its runs
    /// ln(time) of its processes in earlier runs, one vector per run.
    std::span<const std::vector<double>> history = {};
  };

  double relative = 0.0;  ///< standard deviation of one process's ln(time)
  std::size_t pairs = 0;  ///< of processes behind it; below eight, the assumed value holds
};
inline constexpr std::size_t kMinDeviationPairs = 8;
inline constexpr double kAssumedProcessDeviation = 0.01;
[[nodiscard]] ProcessDeviation process_deviation(std::span<const results::StoredMeasurement> rows);

/// Returns the deviation for a comparison of two runs: the larger one, with the fewer pairs.
[[nodiscard]] ProcessDeviation joined(const ProcessDeviation& one, const ProcessDeviation& other);

/// Compares two times of one process each. Fills in times, ratio, interval, error and mde, and
/// returns the two-sided p. The error has those of both medians, and the deviation once for each
/// side.
double test_times(MetricComparison& metric,
                  const measure::MeasuredTime& before,
                  const measure::MeasuredTime& after,
                  const ProcessDeviation& deviation,
                  double alpha);

/// Restarted processes per side from which on a comparison rests on them alone.
inline constexpr std::size_t kMinProcesses = 3;

/// Returns ln(median) of one variant in each process of a run that timed it hot, undisturbed and
/// above zero.
[[nodiscard]] std::vector<double> process_log_times(
    std::span<const results::StoredMeasurement* const> rows, const std::string& variant);

/// Compares restarted processes of two sides, at least kMinProcesses each, by trimmed means. The
/// error has Yuen's errors, moderated by the prior, and the deviation between runs once for each
/// side. The degrees of freedom are those of Welch and Satterthwaite (Biometrika 34, 1947). Fills
/// in what test_times() does, and returns the two-sided p.
///
/// If the history and both sides show two levels (find_two_levels()), other tests replace this one.
/// Each level with three processes on both sides is compared, and the shares by Fisher's exact
/// test. The result is the smallest of these p-values times their number. If it is a level's, the
/// times are those of the level. `metric.levels` describes the levels.
double test_processes(MetricComparison& metric,
                      std::span<const double> before,
                      std::span<const double> after,
                      double alpha,
                      const ProcessDeviation::KnownNoise& known = {});

}  // namespace plumb::analysis
