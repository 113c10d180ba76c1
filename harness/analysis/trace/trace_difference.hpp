// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analysis/trace/trace_report.hpp"

namespace plumb::analysis {

/// Difference of two executions of one model.
///
/// The changes of the layers, of the gaps and of what is not matched add up to `after` less
/// `before`.
struct TraceDifference {
  /// Layers that are compared together, since one execution or the other fuses them.
  struct Layer {
    /// Time of some layers in one execution, by what it went to.
    struct Time {
      Seconds computing{};
      Seconds moving{};  ///< reorders, copies, pads and waits for these layers
    };

    std::vector<model::LayerId> layers;  ///< ascending
    Time before;
    Time after;

    [[nodiscard]] Seconds change() const {
      return after.computing + after.moving - before.computing - before.moving;
    }
  };

  /// Time of one execution that no layer has.
  struct Rest {
    Seconds gaps{};       ///< without a call; negative where calls ran side by side
    Seconds unmatched{};  ///< of calls that belong to no layer
  };

  Seconds before{};  ///< of the execution; of all calls where the trace does not say
  Seconds after{};
  std::vector<Layer> layers;  ///< the largest change first
  Rest rest_before;
  Rest rest_after;
};

/// Compares two executions of one model by its layers. Layers that either of them fuses are
/// compared together, also where the two fuse them differently.
[[nodiscard]] TraceDifference compute_trace_difference(const model::Graph& graph,
                                                       const MatchedTrace& before,
                                                       const MatchedTrace& after);

/// Makes the JSON of a difference of two reports of one model.
[[nodiscard]] Json difference_document(const TraceReport& before,
                                       const TraceReport& after,
                                       const TraceDifference& difference);

}  // namespace plumb::analysis
