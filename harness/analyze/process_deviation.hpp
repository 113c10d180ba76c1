// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/measured_time.hpp"
#include "harness/analyze/metric_test.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Deviation of a time between two processes, estimated from a run itself. It compares the same
/// variant in the worker that raced it and in the fresh one that confirmed it, or in each restarted
/// process.
struct ProcessDeviation {
  double relative = 0.0;  ///< standard deviation of one process's ln(time)
  std::size_t pairs = 0;  ///< it comes from; below eight the assumed value stands
};
inline constexpr std::size_t kLeastDeviationPairs = 8;
inline constexpr double kAssumedProcessDeviation = 0.01;
[[nodiscard]] ProcessDeviation process_deviation(std::span<const StoredMeasurement> rows);

/// Joins the deviations of two runs that are compared: the larger one, with the fewer pairs.
[[nodiscard]] ProcessDeviation joined(const ProcessDeviation& one, const ProcessDeviation& other);

/// Compares two times of one process each: fills in times, ratio, interval, error and mde, and
/// returns the two-sided p. The error is that of both medians and twice the deviation.
double test_times(MetricComparison& metric,
                  const MeasuredTime& before,
                  const MeasuredTime& after,
                  const ProcessDeviation& deviation,
                  double alpha);

/// Restarted processes a side from which a comparison rests on them alone.
inline constexpr std::size_t kLeastProcesses = 3;

/// Returns ln(median) of one variant in each process of a run that timed it, hot, undisturbed and
/// above zero.
[[nodiscard]] std::vector<double> process_log_times(std::span<const StoredMeasurement* const> rows,
                                                    const std::string& variant);

/// What else is known of the noise of a metric than its processes show.
struct KnownNoise {
  VariancePrior processes = {};  ///< what other metrics of the comparison say of its scatter
  RunDeviation runs = {};        ///< how much its runs differ
  /// ln(time) of its processes in earlier runs, one vector a run.
  std::span<const std::vector<double>> history = {};
};

/// Compares restarted processes of two sides, kLeastProcesses each at least: trimmed means with
/// Yuen's errors, moderated by the prior, and twice the deviation of runs; the degrees of freedom
/// of Welch and Satterthwaite (Biometrika 34, 1947). Fills in what test_times() does, and returns
/// the two-sided p.
///
/// Where the history and both sides show two levels (find_two_levels()), each level that three
/// processes of either side are at is compared instead, and the shares by Fisher's exact test. The
/// result is the least of these p-values, times their number. The times are those of the level that
/// it belongs to. `metric.levels` tells of them.
double test_processes(MetricComparison& metric,
                      std::span<const double> before,
                      std::span<const double> after,
                      double alpha,
                      const KnownNoise& known = {});

}  // namespace plumb
