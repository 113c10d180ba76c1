// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/analysis/compare/metric_test.hpp"
#include "harness/results/outcome.hpp"

namespace plumb::analysis {

/// Layer or benchmark that failed in both runs, and alike. Nothing changed, so no gate waits for
/// it.
struct NotCompared {
  std::string series;
  results::Outcome baseline;
  results::Outcome candidate;
};

/// Returns whether two failures are of one kind and say the same, but for words with digits or
/// signs in them. Such words are numbers, addresses, paths and times. Pure.
[[nodiscard]] bool failed_alike(const results::Outcome& baseline,
                                const results::Outcome& candidate);

/// Concludes from two failures that are not alike. A graver one than before is broken. Any other
/// stays inconclusive, because somebody has to look at it. Fills in verdict and reason.
void judge_failures(const results::Outcome& baseline,
                    const results::Outcome& candidate,
                    MetricComparison& metric);

}  // namespace plumb::analysis
