// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/results/exclusion.hpp"

namespace plumb::analysis {

/// Exclusion of a suite with what it covers in one comparison.
struct AppliedExclusion {
  results::Exclusion exclusion;
  bool expired = false;
  std::vector<MetricComparison> metrics;  ///< left out of the verdict; none if it is expired
};

/// Takes the metrics that exclusions cover out of a comparison, and concludes from the rest. If
/// nothing is left that decides, the comparison is inconclusive. `day` is that of the candidate.
/// Returns all exclusions, the expired ones too. Pure.
[[nodiscard]] std::vector<AppliedExclusion> apply_exclusions(
    const std::vector<results::Exclusion>& exclusions,
    std::string_view day,
    const ComparisonLimits& limits,
    RunComparison& comparison);

}  // namespace plumb::analysis
