// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/paired/paired_session.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Samples that each side is to have of a model.
inline constexpr std::uint64_t kPairedSamples = 20'000;

/// Profiles of both sides of a paired measurement, in order of the models.
struct PairedProfiles {
  /// Outcome of profiling what differs between two stored runs.
  struct Outcome {
    std::size_t models = 0;  ///< in which something changed, or as controls, and layers alone
    std::vector<std::string> problems;  ///< what could not be profiled, or not in full
  };

  std::vector<results::StoredProfile> baseline;
  std::vector<results::StoredProfile> candidate;
  std::vector<std::string> problems;  ///< models that could not be profiled, and why
};

/// Profiles models on both sides in turns, in the order ABBA, each time in fresh processes: until
/// each side has kPairedSamples of a model by enough processes to draw from (drawn_unit()), or its
/// part of the budget is spent. Layers alone are profiled in the same way. The profiles are stored
/// with the runs of their sides. What a worker is lost with or refuses is a problem.
[[nodiscard]] PairedProfiles profile_in_pairs(
    const SessionContext& context,
    const suite::ResolvedSuite& suite,
    std::span<const PlannedModel> models,
    std::span<const analysis::ProfilingChoice::Model> wanted,
    const PairedRounds::Side& baseline,
    const PairedRounds::Side& candidate,
    Seconds budget);

/// Profiles what changed between two stored runs, and controls, under the stacks of both in turns
/// (analysis::choose_comparison_profiling(), profile_in_pairs()). The profiles are stored with the
/// runs. Throws Error{kRefused} if both runs are of one stack, or if this machine or a stack is no
/// longer what a run measured. Throws Error{kEnvironment} if a worker cannot be sampled, and
/// Error{kUser} if a model is no longer there.
[[nodiscard]] PairedProfiles::Outcome profile_comparison(const SessionContext& context,
                                                         const analysis::ComparisonReport& report,
                                                         Seconds budget);

/// Measures one stack against itself in pairs, and stores and returns its noise. Earlier such
/// studies of the same environment in the store count, too. Throws Error{kEnvironment} if the stack
/// changed meanwhile.
[[nodiscard]] analysis::NoiseReport study_noise(const SessionContext& context,
                                                const suite::ResolvedSuite& suite,
                                                std::span<const PlannedModel> models,
                                                const PairedSession::Options& options,
                                                const analysis::NoiseReport::Study::Plan& plan);

}  // namespace plumb::session
