// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/series_history.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Reads the book kept of changes: the derived records "change" of these runs, oldest first.
[[nodiscard]] std::vector<ChangeRecord> read_changes(const Store& store,
                                                     std::span<const RunRecord> runs);

/// Enters states into the book. `newest` is the run with which they were judged: what was judged
/// with the same run twice is one entry.
void enter_changes(Store& store, std::span<const ChangeRecord> changes, const RunId& newest);

}  // namespace plumb
