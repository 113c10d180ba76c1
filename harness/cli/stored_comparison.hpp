// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/analyze/confirmation.hpp"
#include "harness/store/store.hpp"
#include "reporting/comparison_report.hpp"

namespace plumb {

/// Throws Error{kRefused} if two runs differ in more of their identity or suite than is meant to
/// differ, naming it.
void check_alike(const RunRecord& baseline,
                 const RunRecord& candidate,
                 std::span<const std::string> varied);

/// Compares two stored runs, named as users name them. Throws Error{kRefused} if they differ in
/// more than `varied` names (is_varied()), Error{kUser} for a run that is not there. Minimum
/// effects come from the calibrations that the store keeps, those up to `until` where it is given.
/// Of runs of the same software (is_same_software()) they are the margins of runs at least. What a
/// run has confirmed against this baseline counts.
[[nodiscard]] RunComparisonReport compare_stored_runs(const Store& store,
                                                      const std::string& baseline,
                                                      const std::string& candidate,
                                                      std::span<const std::string> varied,
                                                      const ComparisonLimits& limits,
                                                      const std::optional<Timestamp>& until = {});

/// Finds what a stored run must confirm before it is said to have regressed, by the rows of both
/// runs alone. Throws as compare_stored_runs() does.
[[nodiscard]] Suspects stored_suspects(const Store& store,
                                       const std::string& baseline,
                                       const std::string& candidate,
                                       std::span<const std::string> varied,
                                       SuspectRule rule);

/// Keeps with a run that processes after `after_process` measured the suspects of a comparison
/// again; comparisons of these two runs rest on that from then on.
void put_confirmation(Store& store,
                      const RunId& baseline,
                      const RunId& candidate,
                      std::int64_t after_process,
                      const Suspects& suspects);
/// Keeps with a run what pairs of processes beside the baseline's stack measured, likewise.
void put_confirmation(Store& store,
                      const RunId& baseline,
                      const RunId& candidate,
                      const PairedConfirmation& pairs,
                      const Suspects& suspects);

/// Keeps a comparison as a derived record of the candidate's run, of kind "comparison", filed under
/// the baseline's id: the document that `plumb compare --json` prints.
void store_comparison(Store& store, const RunComparisonReport& report);

/// Names two runs that were compared.
struct ComparedRuns {
  std::string baseline;
  std::string candidate;
};
/// Reads "BASE..CAND"; absent: it names a run.
[[nodiscard]] std::optional<ComparedRuns> compared_runs(const std::string& name);

/// Makes a comparison anew from the runs' rows, by the limits and with what differs
/// on purpose of the newest comparison of these two runs that the store keeps, and by what was
/// calibrated then; by the defaults where it keeps none. Throws as compare_stored_runs() does.
[[nodiscard]] RunComparisonReport kept_comparison(const Store& store, const ComparedRuns& runs);

}  // namespace plumb
