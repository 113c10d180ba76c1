// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/profile/profiling_choice.hpp"
#include "harness/analysis/report/comparison_report.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Samples that each side is to have of a model.
inline constexpr std::uint64_t kPairedSamples = 20'000;

/// Profiles of both sides of a paired measurement, in order of the models.
struct PairedProfileSets {
  std::vector<results::StoredProfile> baseline;
  std::vector<results::StoredProfile> candidate;
  std::vector<std::string> problems;  ///< models that could not be profiled, and why
};

/// Profiles models on both sides in turns, in the order ABBA, each time in fresh processes: until
/// each side has kPairedSamples of a model by enough processes to draw from (drawn_unit()), or its
/// part of the budget is spent. Layers alone are profiled in the same way. The profiles are stored
/// with the runs of their sides. What a worker is lost with or refuses is a problem.
[[nodiscard]] PairedProfileSets profile_in_pairs(const SessionContext& context,
                                                 const suite::ResolvedSuite& suite,
                                                 std::span<const PlannedModel> models,
                                                 std::span<const analysis::ProfiledModel> wanted,
                                                 const PairedSide& baseline,
                                                 const PairedSide& candidate,
                                                 Seconds budget);

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
