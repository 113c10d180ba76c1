// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/exclusion.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Stores a derived record that a run has beside its rows. It rests on no rows, and has this
/// version of the analysis and the present time. A record of shared work that another process has
/// by now is left out.
void put_run_record(store::Store& store,
                    const results::RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload);

/// Stores derived records of one kind as put_run_record() does: all of them, or none if the process
/// is killed. Of each: its subject and its payload.
void put_run_records(store::Store& store,
                     const results::RunId& run,
                     const std::string& kind,
                     std::span<const std::pair<std::string, std::string>> records);

/// Reads the exclusions of a run's suite, as they were when it began or was last resumed.
[[nodiscard]] std::vector<results::Exclusion> read_exclusions(const store::Store& store,
                                                              const results::RunId& run);

/// Reads those that hold on the day when the run began.
[[nodiscard]] std::vector<results::Exclusion> holding_exclusions(const store::Store& store,
                                                                 const results::RunHeader& run);

}  // namespace plumb::session
