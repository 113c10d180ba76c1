// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/report/baseline_entry.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Accepts a run as the baseline of a name: tags it and keeps a record. The record has who, when,
/// why and which run had the tag before, and never changes. Throws Error{kUser} for a run that is
/// not finished, or a name that cannot be a tag. `partial` also accepts an interrupted run.
void accept_baseline(store::Store& store,
                     const results::RunRecord& run,
                     const std::string& name,
                     const std::string& who,
                     const std::string& reason,
                     bool partial = false);

/// Returns every acceptance in the store, newest first. Runs with a tag `baseline` or `baseline/…`
/// but without a record are listed too.
[[nodiscard]] std::vector<analysis::BaselineEntry> baselines_in(const store::Store& store);

}  // namespace plumb::session
