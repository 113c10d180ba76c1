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

}  // namespace plumb::analysis
