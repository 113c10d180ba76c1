// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/analyze/paired_metric.hpp"
#include "harness/analyze/qualification.hpp"

namespace plumb {

/// Times of one regressed layer, measured by fresh processes of both sides.
struct ReplayTimes {
  std::string chosen;            ///< the baseline's choice
  std::string candidate_chosen;  ///< what regressed: the candidate's
  std::string replayed;          ///< the candidate's variant that is it; empty: not there any more
  PairedSamples replay;          ///< `chosen` by the baseline, `replayed` by the candidate
  std::string baseline_best;     ///< fastest variant of each
  std::string candidate_best;
  PairedSamples best;
};

/// Finds among a candidate's variants the one that is the baseline's choice: by its text, else by
/// family and instruction set of its name. Empty: there is none.
[[nodiscard]] std::string same_variant(const std::string& chosen,
                                       const std::vector<std::string>& variants);

/// Determines by test why a layer regressed. The baseline's implementation is as fast as before if
/// less than half of the regression (on the logarithm) shows in it; else its kernel changed. The
/// bound is worse if at least half of the regression shows in the fastest variants. Pure.
[[nodiscard]] CrossReplay judge_replay(const ReplayTimes& times,
                                       const MetricComparison& regression);

}  // namespace plumb
