// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/analysis/compare/paired_metric.hpp"
#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {

/// Times of one regressed layer, measured by fresh processes of both sides.
struct ReplayTimes {
  std::string chosen;            ///< the baseline's choice
  std::string candidate_chosen;  ///< what regressed: the candidate's
  std::string replayed;          ///< the same variant of the candidate; empty: it has none
  PairedSamples replay;          ///< `chosen` by the baseline, `replayed` by the candidate
  std::string baseline_best;     ///< fastest variant of each
  std::string candidate_best;
  PairedSamples best;
};

/// Finds the baseline's choice among a candidate's variants: by its text, else by family and
/// instruction set of its name. Empty: there is none.
[[nodiscard]] std::string same_variant(const std::string& chosen,
                                       const std::vector<std::string>& variants);

/// Determines by test why a layer regressed. If the candidate lacks the baseline's implementation,
/// it was removed. The kernel changed if at least half of the regression (on the logarithm) shows
/// in that implementation. If less shows, the heuristic changed, or the regression was not seen
/// again where the candidate chooses the same. The bound is worse if at least half of the
/// regression shows in the fastest variants. Where a 95% interval allows more and less than half,
/// it is undecided. Pure.
[[nodiscard]] PinnedVariantCheck judge_replay(const ReplayTimes& times,
                                              const MetricComparison& regression);

}  // namespace plumb::analysis
