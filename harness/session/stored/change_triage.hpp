// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/history/series_history.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Reads the book of changes: the derived records "change" of these runs, run by run. Throws
/// Error{kEnvironment} for a state that this version does not know.
[[nodiscard]] std::vector<analysis::ChangeRecord> read_changes(
    const store::Store& store, std::span<const results::RunRecord> runs);

/// Adds states to the book of changes, each to the run of its change. `newest` is the run with
/// which they were judged: the same judgement entered twice is one entry.
void enter_changes(store::Store& store,
                   std::span<const analysis::ChangeRecord> changes,
                   const results::RunId& newest);

/// Returns an entry for each change that "SERIES@RUN" names, in the state that it has. SERIES may
/// be a layer key. "@RUN" names all changes in a run. Throws Error{kUser} if there is none.
[[nodiscard]] std::vector<analysis::ChangeRecord> named_changes(
    const store::Store& store,
    std::span<const analysis::SeriesFinding> findings,
    const std::string& name);

}  // namespace plumb::session
