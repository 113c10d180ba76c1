// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Checks that two runs differ only in what is meant to differ of their identity and suite. Throws
/// Error{kRefused} naming the differences.
void check_alike(const results::RunRecord& baseline,
                 const results::RunRecord& candidate,
                 std::span<const std::string> varied);

/// Takes what the candidate's suite excludes out of a comparison (apply_exclusions()).
void exclude_cases(const store::Store& store, analysis::ComparisonReport& report);

/// Compares two stored runs, named as users name them. Minimum effects come from the calibrations
/// and the noise that the store knows, up to `until` if it is given. For runs of the same software
/// (is_same_software()) they are at least the margins of runs. What a run has confirmed against
/// this baseline counts. Throws Error{kRefused} if the runs differ in more than `varied` names
/// (is_varied()), Error{kUser} for a run that is not there.
[[nodiscard]] analysis::ComparisonReport compare_stored_runs(
    const SessionContext::Archive& archive,
    const std::string& baseline,
    const std::string& candidate,
    std::span<const std::string> varied,
    const analysis::ComparisonLimits& limits,
    const std::optional<Timestamp>& until = {});

/// Finds what a stored run must confirm before it counts as regressed, by both runs' rows alone.
/// Throws as compare_stored_runs() does.
[[nodiscard]] analysis::PairedConfirmation::Suspects stored_suspects(
    const SessionContext::Archive& archive,
    const std::string& baseline,
    const std::string& candidate,
    std::span<const std::string> varied,
    analysis::PairedConfirmation::Suspects::Rule rule);

/// Stores a comparison as a derived record "comparison" of the candidate's run, under the
/// baseline's id. It is the document that `plumb compare --json` prints.
void store_comparison(store::Store& store, const analysis::ComparisonReport& report);

/// Splits "BASE..CAND" into the names of two runs. Absent: the text names one run.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> compared_runs(
    const std::string& name);

/// Makes a comparison of two runs again from their rows. Limits, varied names and the time of
/// calibrations are those of the newest comparison of these runs in the store, or else the
/// defaults. Throws as compare_stored_runs() does.
[[nodiscard]] analysis::ComparisonReport kept_comparison(const SessionContext::Archive& archive,
                                                         const std::string& baseline,
                                                         const std::string& candidate);

}  // namespace plumb::session
