// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Call of a trace, and the layers of the model that it executed.
struct MatchedCall {
  results::ExecutedCall call;
  std::vector<model::LayerId> layers;  ///< ascending; several: fused; empty: not matched
};

/// One execution of a trace beside its model.
struct MatchedTrace {
  std::vector<MatchedCall> calls;            ///< in the order of the trace
  std::vector<model::LayerId> not_executed;  ///< layers that are computed, and that no call has
  results::TracedExecution execution;        ///< zero: the trace does not say when it was
  std::size_t executions = 1;                ///< in the trace, of which this is the median one
  Seconds traced{};                          ///< time of all calls
  Seconds matched{};                         ///< of it: that of calls with layers
  bool partial = false;  ///< a log of a library that a runtime calls for some layers only
};

/// Adds what a library's log knows to a runtime's trace of the same execution.
///
/// The library's calls are taken in order, each for the next call of the runtime that may be it by
/// operation and shapes. That call gets the implementation and the layouts. Reorders before it
/// become calls of their own, and their time is taken from the runtime's call.
[[nodiscard]] results::ExecutedTrace join_traces(results::ExecutedTrace runtime,
                                                 const results::ExecutedTrace& library);

/// Matches the calls of a trace's median execution to the layers of a model.
///
/// A call belongs to the layers that the worker named, else to the one that it has the name of,
/// else to the first layer of its operation and shapes that has no call yet. A change of a layout,
/// a copy or a pad belongs to the layer of the call behind it. A layer without a call of its own is
/// taken to be fused into the call of a neighbour, unless it is a product or the trace is partial.
[[nodiscard]] MatchedTrace match_trace(const model::Graph& graph,
                                       const results::ExecutedTrace& trace);

}  // namespace plumb::analysis
