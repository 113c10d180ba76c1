// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

inline constexpr std::size_t kMinCalibrationPairs = 5;

/// Contents of a report on the noise of a stack that was compared with itself.
struct NoiseReport {
  /// Noise, false alarms and power of comparisons of one stack with itself.
  struct Study {
    /// Options of the resampling in calibrate_noise().
    struct Plan {
      std::size_t comparisons = 1000;
      std::size_t pairs = 10;  ///< in each
      std::uint64_t seed = 1;
    };

    /// Times of one metric from restarted processes of a single stack.
    struct Metric {
      struct Process {
        std::string day;              ///< of its measurement, UTC
        std::vector<double> samples;  ///< seconds, in time order
      };
      std::string series;  ///< "layers/KEY", "models/SUBJECT/end_to_end/MODE/SCENARIO"
      MetricKind kind = MetricKind::kLayer;            ///< or kEndToEnd
      std::vector<std::pair<Process, Process>> pairs;  ///< the two of a round
      double resolution = 0.0;  ///< the timer's tick ÷ executions in a sample, seconds
    };

    /// Noise of one metric: standard deviations of ln(time), which are relative.
    struct MetricNoise {
      std::string series;
      MetricKind kind = MetricKind::kLayer;
      std::size_t pairs = 0;
      std::size_t days = 0;
      double median = 0.0;          ///< seconds, over the processes
      double within = 0.0;          ///< of a sample within its process
      double between = 0.0;         ///< of processes within a day, beside what `within` explains
      std::optional<double> daily;  ///< of days, beside what processes explain; absent: one day
      double process = 0.0;  ///< of one process's median within a day: what a comparison sees
      double autocorrelation = 0.0;  ///< lag 1, of samples within processes
      double drift = 0.0;  ///< lag 1, of processes in order: above zero, the machine wanders
      double floor = 0.0;  ///< relative changes below it are none
    };

    /// Power of a comparison: how often a change of one size is found.
    struct PowerPoint {
      double change = 0.0;  ///< relative, of every metric's candidate
      double found = 0.0;   ///< share over comparisons and metrics, at 1%, in the right direction
      double least = 0.0;   ///< share for the metric in which it is found least often
    };

    /// Rate of false alarms in comparisons of a stack with itself.
    struct FalsePositiveRate {
      double alpha = 0.0;
      double rate = 0.0;  ///< over comparisons and metrics
      double low = 0.0;   ///< 99% band of a test that keeps alpha, of so many comparisons
      double high = 0.0;
      [[nodiscard]] bool in_band() const { return rate >= low && rate <= high; }
    };

    std::size_t comparisons = 0;  ///< pseudo comparisons
    std::size_t pairs = 0;        ///< in each of them
    std::vector<MetricNoise> metrics;
    std::vector<FalsePositiveRate> alarms;  ///< at 5% and 1%
    double family_alarms = 0.0;  ///< share of comparisons whose verdict is regressed or improved
    std::vector<PowerPoint> power;
  };

  std::string suite;
  std::string stack;
  std::string environment;
  results::RunId first;
  results::RunId second;
  std::size_t calibrations = 0;  ///< that went into it, this one included
  Study noise;
};

/// Computes the noise of metrics from pairs of one stack with itself.
///
/// - Components of variance: nested analysis of variance of ln(time), samples in processes in days,
///   by unweighted means (Searle, Casella and McCulloch, Variance Components, 1992, §3.6 and §5.2).
/// - Floor: the largest of 2%, three times `process`, and the resolution ÷ median.
/// - False alarms: pairs are drawn without replacement and their sides swapped at random, so that
///   they contain no change.
/// - Power: the candidate of such pairs is multiplied by the change.
///
/// Pairs are used many times. The band is that of independent comparisons, so it is only a guide. A
/// metric with fewer than kMinCalibrationPairs whole pairs is left out. Throws Error{kTryAgain} if
/// none is left. Pure: equal input and seed, equal output.
[[nodiscard]] NoiseReport::Study calibrate_noise(
    std::span<const NoiseReport::Study::Metric> metrics, const NoiseReport::Study::Plan& plan);

}  // namespace plumb::analysis
