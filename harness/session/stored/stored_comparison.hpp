// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/analysis/report/comparison_report.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Checks that two runs differ only in what is meant to differ of their identity and suite. Throws
/// Error{kRefused} naming the differences.
void check_alike(const results::RunRecord& baseline,
                 const results::RunRecord& candidate,
                 std::span<const std::string> varied);

/// Takes what the candidate's suite excludes out of a comparison (apply_exclusions()).
void exclude_cases(const store::Store& store, analysis::RunComparisonReport& report);

/// Compares two stored runs, named as users name them. Minimum effects come from the calibrations
/// and the noise that the store knows, up to `until` if it is given. For runs of the same software
/// (is_same_software()) they are at least the margins of runs. What a run has confirmed against
/// this baseline counts. Throws Error{kRefused} if the runs differ in more than `varied` names
/// (is_varied()), Error{kUser} for a run that is not there.
[[nodiscard]] analysis::RunComparisonReport compare_stored_runs(
    const Archive& archive,
    const std::string& baseline,
    const std::string& candidate,
    std::span<const std::string> varied,
    const analysis::ComparisonLimits& limits,
    const std::optional<Timestamp>& until = {});

/// Finds what a stored run must confirm before it counts as regressed, by both runs' rows alone.
/// Throws as compare_stored_runs() does.
[[nodiscard]] analysis::Suspects stored_suspects(const Archive& archive,
                                                 const std::string& baseline,
                                                 const std::string& candidate,
                                                 std::span<const std::string> varied,
                                                 analysis::SuspectRule rule);

/// Stores a comparison as a derived record "comparison" of the candidate's run, under the
/// baseline's id. It is the document that `plumb compare --json` prints.
void store_comparison(store::Store& store, const analysis::RunComparisonReport& report);

/// Names of two runs that were compared.
struct ComparedRuns {
  std::string baseline;
  std::string candidate;
};
/// Splits "BASE..CAND" into two names. Absent: the text names one run.
[[nodiscard]] std::optional<ComparedRuns> compared_runs(const std::string& name);

/// Makes a comparison of two runs again from their rows. Limits, varied names and the time of
/// calibrations are those of the newest comparison of these runs in the store, or else the
/// defaults. Throws as compare_stored_runs() does.
[[nodiscard]] analysis::RunComparisonReport kept_comparison(const Archive& archive,
                                                            const ComparedRuns& runs);

}  // namespace plumb::session
