// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "harness/analysis/report/comparison_report.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Compares two sets of runs boot by boot (compare_boots()). Throws Error{kRefused} if runs of one
/// side are unlike each other, or if the sides differ in more than `varied` names. Throws
/// Error{kTryAgain} if a side has fewer than kMinBoots boots with measured controls, and says which
/// runs were left out and why. Throws Error{kUser} for a run that is not there.
[[nodiscard]] analysis::RunComparisonReport compare_stored_boots(
    const Archive& archive,
    const std::string& baseline,
    const std::string& candidate,
    std::span<const std::string> varied,
    const analysis::ComparisonLimits& limits);

}  // namespace plumb::session
