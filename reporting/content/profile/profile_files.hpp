// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::reporting {

/// Writes a profile as folded stacks: a line "MODEL;STEP;FUNCTION SAMPLES" for each step and
/// function, as flamegraph.pl and speedscope read them.
void write_folded_stacks(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as a flame graph: an SVG picture of the model, its steps in their order, and
/// the functions of each, as wide as their shares. A tooltip tells name, samples and share.
void write_flame_graph(const results::NamedProfile& profile, std::ostream& out);

}  // namespace plumb::reporting
