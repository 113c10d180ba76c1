// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/session/paired/paired_run.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Measures one stack against itself in pairs, and stores and returns its noise. Earlier such
/// studies of the same environment in the store count, too. Throws Error{kEnvironment} if the stack
/// changed meanwhile.
[[nodiscard]] analysis::NoiseReport study_noise(const SessionContext& context,
                                                const suite::ResolvedSuite& suite,
                                                std::span<const PlannedModel> models,
                                                const PairedOptions& options,
                                                const analysis::ResamplingPlan& plan);

}  // namespace plumb::session
