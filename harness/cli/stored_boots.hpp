// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "harness/store/store.hpp"
#include "reporting/comparison_report.hpp"

namespace plumb {

/// Returns whether a side of `plumb compare` names several runs. Such a name is "A,B,C", or "TAG/*"
/// for all runs whose tag begins with "TAG/".
[[nodiscard]] bool names_several_runs(const std::string& name);

/// Compares two sets of runs boot by boot (compare_boots()). Throws Error{kRefused} where runs of
/// one side are unlike each other, or the sides differ in more than `varied` names;
/// Error{kTryAgain} where a side has fewer than kLeastBoots boots whose machine was measured too,
/// saying which runs were left out and why; Error{kUser} for a run that is not there.
[[nodiscard]] RunComparisonReport compare_stored_boots(const Store& store,
                                                       const std::string& baseline,
                                                       const std::string& candidate,
                                                       std::span<const std::string> varied,
                                                       const ComparisonLimits& limits);

}  // namespace plumb
