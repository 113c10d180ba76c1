// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Comparison of two sets of boots.
struct BootComparison {
  /// Times and control of one run in one boot of the machine.
  struct Run {
    std::string boot;  ///< the kernel's id of it
    results::RunId run;
    double control = 0.0;                         ///< of the pinned control kernel, seconds
    std::map<std::string, double> times;          ///< by series, seconds
    std::map<std::string, std::string> failures;  ///< why a layer has none
  };

  /// Boot of the machine with all its runs.
  struct Boot {
    std::string id;
    std::vector<results::RunId> runs;
    double control = 0.0;  ///< geometric mean over its runs, seconds
  };

  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::vector<Boot> baseline;
  std::vector<Boot> candidate;
  double control = 0.0;  ///< to which all times are scaled: geometric mean of all boots, seconds
  std::vector<MetricComparison> metrics;  ///< broken first, then changed, then the rest
};

/// Boots per side below which nothing is decided.
inline constexpr std::size_t kMinBoots = 5;

/// Groups runs by the boot in which they were measured, in order of first occurrence.
[[nodiscard]] std::vector<BootComparison::Boot> group_by_boot(
    std::span<const BootComparison::Run> runs);

/// Compares what cannot be switched within one boot, such as a driver. The unit of replication is
/// the boot.
///
/// - Each time is divided by its run's control, which no library or driver under test touches. A
///   machine that is faster as a whole is therefore no change. The value of a boot is the mean of
///   ln over its runs.
/// - Sides are compared by test_processes(): layers at a false-discovery rate, the rest at `alpha`
///   each.
/// - The minimum effect of a layer is layer_floor() without an assumed deviation, since the boots
///   show it. That of the rest is the limit, at least 1%.
/// - Broken: timed in every boot of the baseline, and refused in every run of the candidate.
/// - Inconclusive: fewer than kMinBoots per side timed it.
/// - The control itself is listed, undivided, with kind "control", and decides nothing.
///
/// Pure.
[[nodiscard]] BootComparison compare_boots(std::span<const BootComparison::Run> baseline,
                                           std::span<const BootComparison::Run> candidate,
                                           const CalibratedFloors& floors,
                                           const ComparisonLimits& limits);

}  // namespace plumb::analysis
