// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// A model's trace and its findings, as `plumb trace` reports them.
struct TraceReport {
  /// What a runtime executed otherwise than the model needs.
  struct Finding {
    /// Measured variants of a layer, or of layers that are fused, each by itself.
    struct MeasuredVariants {
      struct Variant {
        std::string text;
        measure::MeasuredTime time;
      };
      std::vector<model::LayerId> layers;  ///< ascending
      std::vector<Variant> variants;  ///< not empty; first the fastest of those that were confirmed
    };

    enum class Kind {
      kMissedFusion,
      kReorder,
      kWeightReorder,  ///< at every execution, of what never changes
      kPad,
      kCopy,
      kWait,
      kCreation,        ///< of a kernel, while the model executes
      kRecompilation,   ///< of the model, while it executes
      kSlowerVariant,   ///< than the fastest that a run measured
      kLowerPrecision,  ///< than the model has
      kHigherPrecision,
      kGap,             ///< between calls
      kOversubscribed,  ///< more threads than processors
      kNotMatched,
      kFusion,  ///< that happened: no fault
    };
    Kind kind{};
    Seconds time{};                      ///< at most so much is lost; of a fusion: its call's
    std::vector<model::LayerId> layers;  ///< ascending
    std::string evidence;                ///< one line
    std::vector<Finding> places{};       ///< what a missed fusion of one rule adds up
    bool minor = false;                  ///< of so small a share that it is no fault
  };

  /// One execution of a trace beside its model.
  struct Matched {
    /// Call of a trace, and the layers of the model that it executed.
    struct Call {
      results::ExecutedTrace::Call call;
      std::vector<model::LayerId> layers;  ///< ascending; several: fused; empty: not matched
      Seconds typical{};  ///< median of its durations in all executions of the trace
    };

    std::vector<Call> calls;                   ///< in the order of the trace
    std::vector<model::LayerId> not_executed;  ///< layers that are computed, and that no call has
    results::ExecutedTrace::Execution execution;  ///< zero: the trace does not say when it was
    std::size_t executions = 1;                   ///< in the trace, of which this is the median one
    std::size_t compiled = 0;    ///< of them: those in which the model was compiled
    Seconds compilation{};       ///< of the model, in all executions together
    Seconds traced{};            ///< time of all calls
    Seconds matched{};           ///< of it: that of calls with layers
    std::size_t threads = 0;     ///< that a call used at most; 0: unknown
    std::size_t processors = 0;  ///< that these threads had; 0: unknown
    bool partial = false;        ///< a log of a library that a runtime calls for some layers only

    /// Returns how long the execution took: what shares are of. All calls together may take longer,
    /// where they run side by side.
    [[nodiscard]] Seconds span() const { return std::max(execution.duration, traced); }
  };

  /// Difference of two executions of one model.
  ///
  /// The changes of the layers, of the gaps and of what is not matched add up to `after` less
  /// `before`.
  struct Difference {
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

  model::Graph graph;  ///< that was expected, in the type of the mode
  ModelInstance instance;
  std::string model;  ///< on one line, with its batch and type
  std::string mode;   ///< empty: the trace comes from elsewhere
  std::string stack;  ///< likewise
  std::vector<std::string> formats;
  std::optional<Seconds> untraced;  ///< an execution without the profiler
  Matched matched;
  std::vector<Finding> findings;
  std::size_t left_out = 0;      ///< broken lines and events
  std::size_t device_calls = 0;  ///< kernels and copies of a GPU, whose times are not read
};

[[nodiscard]] std::string_view to_text(TraceReport::Finding::Kind kind);

/// Returns whether a finding tells of time that is lost, which that of a fusion does not.
[[nodiscard]] bool is_loss(TraceReport::Finding::Kind kind);

/// Returns what an execution would gain without a finding, by the finding alone.
[[nodiscard]] Seconds compute_gain(const TraceReport::Finding& finding);

/// Matches the calls of a trace's median execution to the layers of a model.
///
/// A call belongs to the layers that the worker named by themselves or by an output, else to the
/// one that it has the name of, else to the first layer of its operation and shapes that has no
/// call yet. Another change of a layout, copy or pad belongs to the layer of the call behind it. A
/// layer without a call of its own is taken to be fused into the call of a neighbour, unless it is
/// a product or the trace is partial.
[[nodiscard]] TraceReport::Matched match_trace(const model::Graph& graph,
                                               const results::ExecutedTrace& trace);

/// Finds what a trace's execution did otherwise than the model needs, the longest first.
///
/// A fusion is missed where a rule of harness/rewrite applies and its layers were executed by more
/// than one call. Its time is that of all these calls but the longest, so at most so much is lost.
/// A variant is slower if it takes a tenth more than the first of `measured`, by their intervals:
/// its lower end is compared with the upper end of the first. Its time is the measured one of its
/// implementation, else the median of the call in all executions.
/// A gap is time of the execution in which no call ran. Where the time without the profiler is
/// known, gaps are at most what it leaves beside the calls, since writing the trace takes time too.
/// The time of a recompilation is that of the mean execution. Reorders and copies of the inputs and
/// outputs are minor, and so are those below 0.5 % of the execution.
[[nodiscard]] std::vector<TraceReport::Finding> find_trace_findings(
    const model::Graph& graph,
    const TraceReport::Matched& matched,
    std::span<const TraceReport::Finding::MeasuredVariants> measured = {},
    std::optional<Seconds> untraced = std::nullopt);

/// Names an execution by its stack and mode, or by the formats of its files.
[[nodiscard]] std::string execution_name(const TraceReport& report);

/// Makes the JSON of a report: its calls in order, its findings, and the layers that no call has.
[[nodiscard]] Json trace_document(const TraceReport& report);

/// Makes a document in the format of Perfetto and Chrome. One track has the calls as executed, and
/// one the layers as expected, each layer where its first call is. A third has the calls of the
/// execution that this is compared with.
[[nodiscard]] Json perfetto_document(const TraceReport& report,
                                     const TraceReport* against = nullptr);

/// Compares two executions of one model by its layers. Layers that either of them fuses are
/// compared together, also where the two fuse them differently.
[[nodiscard]] TraceReport::Difference compute_trace_difference(const model::Graph& graph,
                                                               const TraceReport::Matched& before,
                                                               const TraceReport::Matched& after);

/// Makes the JSON of a difference of two reports of one model.
[[nodiscard]] Json difference_document(const TraceReport& before,
                                       const TraceReport& after,
                                       const TraceReport::Difference& difference);

}  // namespace plumb::analysis
