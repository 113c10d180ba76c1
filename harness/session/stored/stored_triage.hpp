// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/history/change_groups.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Reads the open changes of all histories of a store, judged as `plumb detect` does. A suite or a
/// stack that is not empty selects some. Nothing is stored.
[[nodiscard]] std::vector<analysis::OpenChange> read_open_changes(const store::Store& store,
                                                                  const std::string& suite,
                                                                  const std::string& stack);

/// Decision of a person about changes. What is absent or empty stays as it is.
struct TriageDecision {
  std::optional<analysis::ChangeState> state = {};
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
