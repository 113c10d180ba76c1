// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/analysis/report/comparison_report.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Outcome of profiling what differs between two stored runs.
struct ComparedProfiles {
  std::size_t models = 0;  ///< in which something changed, or as controls, and layers alone
  std::vector<std::string> problems;  ///< what could not be profiled, or not in full
};

/// Profiles what changed between two stored runs, and controls, under the stacks of both in turns
/// (analysis::choose_comparison_profiling(), profile_in_pairs()). The profiles are stored with the
/// runs. Throws Error{kRefused} if both runs are of one stack, or if this machine or a stack is no
/// longer what a run measured. Throws Error{kEnvironment} if a worker cannot be sampled, and
/// Error{kUser} if a model is no longer there.
[[nodiscard]] ComparedProfiles profile_comparison(const SessionContext& context,
                                                  const analysis::RunComparisonReport& report,
                                                  Seconds budget);

}  // namespace plumb::session
