// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Second measurement of what looked slower against a baseline. Later comparisons of these two runs
/// rest on it.
struct StoredConfirmation {
  analysis::Suspects suspects;
  /// Number of the last process before it: fresh ones measured the suspects. Without meaning where
  /// there are `pairs`.
  std::int64_t after_process = 0;
  std::optional<analysis::PairedConfirmation> pairs;  ///< one of each on the baseline's stack
};

/// Stores a confirmation as a record of the candidate's run.
void put_confirmation(store::Store& store,
                      const results::RunId& baseline,
                      const results::RunId& candidate,
                      const StoredConfirmation& confirmation);

/// Reads the newest confirmation of a run against a baseline. Absent: there is none.
[[nodiscard]] std::optional<StoredConfirmation> read_confirmation(const store::Store& store,
                                                                  const results::RunId& baseline,
                                                                  const results::RunId& candidate);

}  // namespace plumb::session
