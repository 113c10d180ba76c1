// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/store/store.hpp"
#include "reporting/baseline_documents.hpp"

namespace plumb {

/// Accepts a run as the baseline of a name: tags it, and keeps who, when, why and which run stood
/// there before as a record that is never changed. Throws Error{kUser} for a run that is not
/// finished, or a name that cannot be a tag.
void accept_baseline(Store& store,
                     const RunRecord& run,
                     const std::string& name,
                     const std::string& who,
                     const std::string& reason);

/// Returns every acceptance in the store, newest first, and the runs that carry a tag `baseline` or
/// `baseline/…` without one.
[[nodiscard]] std::vector<BaselineEntry> baselines_in(const Store& store);

}  // namespace plumb
