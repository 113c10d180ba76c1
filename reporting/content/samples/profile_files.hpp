// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::reporting {

/// Writes a profile as folded stacks: a line "MODEL;STEP;FUNCTION SAMPLES" for each step and
/// function, as flamegraph.pl and speedscope read them. With calls, each function has a part.
void write_folded_stacks(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as a flame graph: an SVG picture of the model, its steps in their order, and
/// the functions of each, as wide as their shares. A tooltip tells name, samples and share.
void write_flame_graph(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as the text of `perf script`, sample by sample. Functions are called by their
/// step. Addresses are zeros, and times only number the samples.
void write_perf_script(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as a trace in Chrome's format, which Perfetto reads: one mean execution, whose
/// steps follow each other in their order and last as long as their shares, with their functions.
void write_event_trace(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile in the format of pprof, compressed with gzip. Functions are called by their
/// step. Throws Error{kInternal} if it cannot be compressed.
void write_pprof(const results::NamedProfile& profile, std::ostream& out);

}  // namespace plumb::reporting
