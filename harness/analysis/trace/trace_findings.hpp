// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/trace/matched_trace.hpp"
#include "harness/measure/sample_summary.hpp"

namespace plumb::analysis {

/// What a runtime executed otherwise than the model needs.
struct TraceFinding {
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
  std::vector<TraceFinding> places{};  ///< what a missed fusion of one rule adds up
  bool minor = false;                  ///< of so small a share that it is no fault
};

[[nodiscard]] std::string_view to_text(TraceFinding::Kind kind);
/// Returns whether a finding tells of time that is lost, which that of a fusion does not.
[[nodiscard]] bool is_loss(TraceFinding::Kind kind);

/// Returns what an execution would gain without a finding, by the finding alone.
[[nodiscard]] Seconds compute_gain(const TraceFinding& finding);

/// Measured variants of a layer, or of layers that are fused, each by itself.
struct MeasuredVariants {
  struct Variant {
    std::string text;
    measure::MeasuredTime time;
  };
  std::vector<model::LayerId> layers;  ///< ascending
  std::vector<Variant> variants;  ///< not empty; first the fastest of those that were confirmed
};

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
[[nodiscard]] std::vector<TraceFinding> find_trace_findings(
    const model::Graph& graph,
    const MatchedTrace& matched,
    std::span<const MeasuredVariants> measured = {},
    std::optional<Seconds> untraced = std::nullopt);

}  // namespace plumb::analysis
