// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyze/qualification.hpp"

namespace plumb {

/// Names the causes of every regressed or broken layer (instruction set, implementation family,
/// implementation, kernel, heuristic) from the names of its variants and from what cross-replay
/// found, those of every changed model from its attribution, and fills in `findings`: one for each
/// cause, with all the layers and models that it shows in, largest first. Pure.
void add_findings(Qualification& qualification);

}  // namespace plumb
