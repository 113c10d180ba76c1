// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/session/paired_rounds.hpp"
#include "harness/session/planner.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {

/// One side of paired rounds, with the header of its run, which has not begun yet.
struct PairedRun {
  PairedSide side;
  RunHeader header;
};

/// Makes the side of a stack, with the environment that a worker describes. The environment's
/// method says "paired", because short samples of many processes must not be mixed with a run's,
/// nor reused for them.
[[nodiscard]] PairedRun paired_run(const std::string& stack,
                                   int threads,
                                   const ResolvedSuite& suite,
                                   std::span<const PlannedModel> models,
                                   std::vector<std::string> command);

/// Checks that two sides differ only in their stacks: libraries, and the variables that they set.
/// Throws Error{kRefused}.
void refuse_unlike(const PairedRun& baseline, const PairedRun& candidate);

}  // namespace plumb
