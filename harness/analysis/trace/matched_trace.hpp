// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/trace/matched_call.hpp"

namespace plumb::analysis {

/// Matches the calls of a trace's median execution to the layers of a model.
///
/// A call belongs to the layers that the worker named by themselves or by an output, else to the
/// one that it has the name of, else to the first layer of its operation and shapes that has no
/// call yet. Another change of a layout, copy or pad belongs to the layer of the call behind it. A
/// layer without a call of its own is taken to be fused into the call of a neighbour, unless it is
/// a product or the trace is partial.
[[nodiscard]] MatchedTrace match_trace(const model::Graph& graph,
                                       const results::ExecutedTrace& trace);

}  // namespace plumb::analysis
