// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/analysis/report/run_report.hpp"
#include "harness/results/profile/stored_profile.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Returns the newest profile that a run keeps of the model of this name or subject. Empty: the run
/// has profiles of one model only. Absent: the run has none. Throws Error{kUser} that lists the
/// models, if several are meant.
[[nodiscard]] std::optional<results::StoredProfile> find_profile(const store::Store& store,
                                                                 const results::RunId& run,
                                                                 const std::string& model);

/// Reads a profile that a run keeps, as find_profile() does. Throws Error{kUser} that lists the
/// models, or says why the run has no profile.
[[nodiscard]] results::StoredProfile read_profile(const store::Store& store,
                                                  const results::RunId& run,
                                                  const std::string& model);

/// Adds the newest profile that the run of a report keeps of each model.
void add_profiles(const store::Store& store, analysis::RunReport& report);

}  // namespace plumb::session
