// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/matrix/matrix.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Returns whether a name stands for several runs. Such a name is "A,B,C", or "TAG/*" for all runs
/// whose tag begins with "TAG/".
[[nodiscard]] bool names_several_runs(const std::string& name);

/// Returns the runs that a name stands for, each once. Throws Error{kUser} for a run that is not
/// there, and if no run has such a tag.
[[nodiscard]] std::vector<results::RunRecord> find_named_runs(const store::Store& store,
                                                              const std::string& name);

/// Compares two sets of runs boot by boot (compare_boots()). Throws Error{kRefused} if runs of one
/// side are unlike each other, or if the sides differ in more than `varied` names. Throws
/// Error{kTryAgain} if a side has fewer than kMinBoots boots with measured controls, and says which
/// runs were left out and why. Throws Error{kUser} for a run that is not there.
[[nodiscard]] analysis::ComparisonReport compare_stored_boots(
    const SessionContext::Archive& archive,
    const std::string& baseline,
    const std::string& candidate,
    std::span<const std::string> varied,
    const analysis::ComparisonLimits& limits);

/// Name that stands for every run of the store, but for imports and sides of pairs.
inline constexpr const char* kAllRuns = "@all";

/// Reads what runs found of their models, one record a run. Runs are named as for
/// find_named_runs(), or kAllRuns. They are in the order in which they are named, each once. A run
/// without that record is analysed again from its rows, which takes longer. One that cannot be
/// analysed says why (Matrix::Run::problem). Throws Error{kUser} for a run that is not there.
[[nodiscard]] std::vector<analysis::Matrix::Run> read_matrix_runs(
    const SessionContext::Archive& archive, std::span<const std::string> names);

/// Lists the commands that execute what is missing in a matrix because nobody executed it, the one
/// for most cells first.
[[nodiscard]] std::vector<analysis::MatrixReport::MissingCommand> commands_for_missing(
    const store::Store& store,
    std::span<const analysis::Matrix::Run> runs,
    const analysis::Matrix& matrix);

}  // namespace plumb::session
