// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/analysis/trace/trace_findings.hpp"

namespace plumb::analysis {

/// A model's trace and its findings, as `plumb trace` reports them.
struct TraceReport {
  model::Graph graph;  ///< that was expected, in the type of the mode
  ModelInstance instance;
  std::string model;  ///< on one line, with its batch and type
  std::string mode;   ///< empty: the trace comes from elsewhere
  std::string stack;  ///< likewise
  std::vector<std::string> formats;
  std::optional<Seconds> untraced;  ///< an execution without the profiler
  MatchedTrace matched;
  std::vector<TraceFinding> findings;
  std::size_t left_out = 0;      ///< broken lines and events
  std::size_t device_calls = 0;  ///< kernels and copies of a GPU, whose times are not read
};

/// Names an execution by its stack and mode, or by the formats of its files.
[[nodiscard]] std::string execution_name(const TraceReport& report);

/// Makes the JSON of a report: its calls in order, its findings, and the layers that no call has.
[[nodiscard]] Json trace_document(const TraceReport& report);

/// Makes a document in the format of Perfetto and Chrome. One track has the calls as executed, and
/// one the layers as expected, each layer where its first call is. A third has the calls of the
/// execution that this is compared with.
[[nodiscard]] Json perfetto_document(const TraceReport& report,
                                     const TraceReport* against = nullptr);

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
