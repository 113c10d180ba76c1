// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/history/series_history.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Reads the book of changes: the derived records "change" of these runs, run by run. Throws
/// Error{kEnvironment} for a state that this version does not know.
[[nodiscard]] std::vector<ChangeRecord> read_changes(const Store& store,
                                                     std::span<const RunRecord> runs);

/// Adds states to the book of changes, each to the run of its change. `newest` is the run with
/// which they were judged: the same judgement entered twice is one entry.
void enter_changes(Store& store, std::span<const ChangeRecord> changes, const RunId& newest);

}  // namespace plumb
