// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/history/series_history.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Reads the book of changes: the derived records "change" of these runs, run by run. Throws
/// Error{kEnvironment} for a state that this version does not know.
[[nodiscard]] std::vector<analysis::SeriesChange::Record> read_changes(
    const store::Store& store, std::span<const results::RunRecord> runs);

/// Adds states to the book of changes, each to the run of its change. `newest` is the run with
/// which they were judged: the same judgement entered twice is one entry.
void enter_changes(store::Store& store,
                   std::span<const analysis::SeriesChange::Record> changes,
                   const results::RunId& newest);

/// Returns an entry for each change that "SERIES@RUN" names, in the state that it has. SERIES may
/// be a layer key. "@RUN" names all changes in a run. Throws Error{kUser} if there is none.
[[nodiscard]] std::vector<analysis::SeriesChange::Record> named_changes(
    const store::Store& store,
    std::span<const analysis::SeriesFinding> findings,
    const std::string& name);

/// Reads the open changes of all histories of a store, judged as `plumb detect` does. A suite or a
/// stack that is not empty selects some. Nothing is stored.
[[nodiscard]] std::vector<analysis::OpenChange> read_open_changes(const store::Store& store,
                                                                  const std::string& suite,
                                                                  const std::string& stack);

/// Decision of a person about changes. What is absent or empty stays as it is.
struct TriageDecision {
  std::optional<analysis::SeriesChange::State> state = {};
  std::string reason = {};                   ///< of the state
  std::optional<std::string> assignee = {};  ///< empty: nobody
  std::string note = {};
  std::string who = {};  ///< decides
};

/// Enters a decision about each change that a name stands for: SERIES@RUN, or @RUN. Returns how
/// many changes these are. Throws Error{kUser} for a name without a change, for a state without a
/// reason, and for texts with control characters or of more than 2,000 bytes (names: 100). Then
/// nothing is entered.
std::size_t enter_decision(store::Store& store,
                           std::span<const std::string> names,
                           const TriageDecision& decision);

/// Finds the changes that a name stands for, the largest first. Throws Error{kUser}.
[[nodiscard]] std::vector<analysis::ChangeEvidence> read_change_evidence(const store::Store& store,
                                                                         const std::string& name);

}  // namespace plumb::session
