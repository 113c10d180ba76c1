// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/report/matrix_report.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Name that stands for every run of the store, but for imports and sides of pairs.
inline constexpr const char* kAllRuns = "@all";

/// Reads what runs found of their models, one record a run. Runs are named as for
/// find_named_runs(), or kAllRuns. They are in the order in which they are named, each once. A run
/// without that record is analysed again from its rows, which takes longer. One that cannot be
/// analysed says why (MatrixRun::problem). Throws Error{kUser} for a run that is not there.
[[nodiscard]] std::vector<analysis::MatrixRun> read_matrix_runs(const Archive& archive,
                                                                std::span<const std::string> names);

/// Lists the commands that execute what is missing in a matrix because nobody executed it, the one
/// for most cells first.
[[nodiscard]] std::vector<analysis::MatrixReport::MissingCommand> commands_for_missing(
    const store::Store& store,
    std::span<const analysis::MatrixRun> runs,
    const analysis::Matrix& matrix);

}  // namespace plumb::session
