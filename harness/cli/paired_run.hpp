// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/plan/paired_rounds.hpp"
#include "harness/plan/planner.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {

/// One side of paired rounds with the header of the run that will keep it. The run has not begun
/// yet.
struct PairedRun {
  PairedSide side;
  RunHeader header;
};

/// Makes the side of a stack: asks a worker what it runs on. Short samples of many processes are
/// not to be mixed with a run's, nor reused for them: the environment's method says "paired".
[[nodiscard]] PairedRun paired_run(const std::string& stack,
                                   int threads,
                                   const ResolvedSuite& suite,
                                   std::span<const PlannedModel> models,
                                   std::vector<std::string> command);

/// Throws Error{kRefused} if two sides differ in more than their stacks: libraries and the
/// variables that the stacks set.
void refuse_unlike(const PairedRun& baseline, const PairedRun& candidate);

}  // namespace plumb
