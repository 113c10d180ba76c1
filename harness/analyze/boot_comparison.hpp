// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/metric_test.hpp"
#include "harness/analyze/practical_floor.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Times and control of one run in one boot of the machine.
struct BootRun {
  std::string boot;  ///< the kernel's id of it
  RunId run;
  double control = 0.0;                         ///< of the pinned control kernel, seconds
  std::map<std::string, double> times;          ///< by series, seconds
  std::map<std::string, std::string> failures;  ///< why a layer has none
};

/// One boot of the machine with all its runs.
struct Boot {
  std::string id;
  std::vector<RunId> runs;
  double control = 0.0;  ///< geometric mean over its runs, seconds
};

/// Comparison of two sets of boots.
struct BootComparison {
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::vector<Boot> baseline;
  std::vector<Boot> candidate;
  double control = 0.0;  ///< to which all times are scaled: geometric mean of all boots, seconds
  std::vector<MetricComparison> metrics;  ///< broken first, then changed, then the rest
};

/// Boots a side below which nothing is decided.
inline constexpr std::size_t kLeastBoots = 5;

/// Gathers runs by the boot they were measured in, in order of first appearance.
[[nodiscard]] std::vector<Boot> boots_of(std::span<const BootRun> runs);

/// Compares what cannot be switched within one boot, such as a driver. The unit of replication is
/// the boot: each time is divided by its run's control, which no library or driver under test
/// touches, so that a machine that is faster as a whole is no change; a boot's value is the mean of
/// ln over its runs; sides are compared by test_processes(). Layers at a false-discovery rate, the
/// rest at `alpha` each. Floors: layer_floor() without an assumed deviation, since the boots show
/// it; else 1%. Broken: timed in every boot of the baseline, and refused in every one of the
/// candidate. Inconclusive: fewer than kLeastBoots a side timed it. The control itself is listed,
/// undivided, kind "control", and decides nothing. Pure.
[[nodiscard]] BootComparison compare_boots(std::span<const BootRun> baseline,
                                           std::span<const BootRun> candidate,
                                           const CalibratedFloors& floors,
                                           const ComparisonLimits& limits);

}  // namespace plumb
