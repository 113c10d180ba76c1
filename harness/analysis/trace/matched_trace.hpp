// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Call of a trace, and the layers of the model that it executed.
struct MatchedCall {
  results::ExecutedCall call;
  std::vector<model::LayerId> layers;  ///< ascending; several: fused; empty: not matched
  Seconds typical{};                   ///< median of its durations in all executions of the trace
};

/// One execution of a trace beside its model.
struct MatchedTrace {
  std::vector<MatchedCall> calls;            ///< in the order of the trace
  std::vector<model::LayerId> not_executed;  ///< layers that are computed, and that no call has
  results::TracedExecution execution;        ///< zero: the trace does not say when it was
  std::size_t executions = 1;                ///< in the trace, of which this is the median one
  std::size_t compiled = 0;                  ///< of them: those in which the model was compiled
  Seconds compilation{};                     ///< of the model, in all executions together
  Seconds traced{};                          ///< time of all calls
  Seconds matched{};                         ///< of it: that of calls with layers
  std::size_t threads = 0;                   ///< that a call used at most; 0: unknown
  std::size_t processors = 0;                ///< that these threads had; 0: unknown
  bool partial = false;  ///< a log of a library that a runtime calls for some layers only

  /// Returns how long the execution took: what shares are of. All calls together may take longer,
  /// where they run side by side.
  [[nodiscard]] Seconds span() const { return std::max(execution.duration, traced); }
};

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
