// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "harness/analysis/explain/function_finding.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Samples that each side needs at least, so that functions are named.
inline constexpr std::uint64_t kMinExplainingSamples = 1000;

/// Choice among the steps of a profile. Empty: all of them, and what is between them.
using StepChoice = std::function<bool(const results::ProfiledStep&)>;

/// Counts the samples of some steps.
[[nodiscard]] std::uint64_t count_samples(const results::NamedProfile& profile,
                                          const StepChoice& chosen);

/// Returns why two profiles are too small to name functions. Empty: they are not.
[[nodiscard]] std::string find_shortage(const results::NamedProfile& baseline,
                                        const results::NamedProfile& candidate);

/// Adds to a finding how the time of some steps differs between two profiles, and the functions
/// that explain it, as compute_profile_difference() ranks them. `problem` says why there are none
/// (find_shortage()). Throws as that does. Pure.
void explain_change(const results::NamedProfile& baseline,
                    const results::NamedProfile& candidate,
                    const StepChoice& chosen,
                    FunctionFinding& finding);

}  // namespace plumb::analysis
