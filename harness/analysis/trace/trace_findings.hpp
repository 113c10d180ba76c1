// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/trace/matched_trace.hpp"

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
    kSlowerVariant,   ///< than the fastest that a run measured
    kLowerPrecision,  ///< than the model has
    kHigherPrecision,
    kGap,  ///< between calls
    kNotMatched,
    kFusion,  ///< that happened: no fault
  };
  Kind kind{};
  Seconds time{};                      ///< at most so much is lost; of a fusion: its call's
  std::vector<model::LayerId> layers;  ///< ascending
  std::string evidence;                ///< one line
};

[[nodiscard]] std::string_view to_text(TraceFinding::Kind kind);
/// Returns whether a finding tells of time that is lost, which that of a fusion does not.
[[nodiscard]] bool is_loss(TraceFinding::Kind kind);

/// Fastest measured variant of a layer, by itself.
struct FastestVariant {
  model::LayerId layer = 0;
  std::string variant;
  Seconds time{};
};

/// Finds what a trace's execution did otherwise than the model needs, the longest first.
///
/// A fusion is missed where a rule of harness/rewrite applies and its layers were executed by more
/// than one call. Its time is that of all these calls but the longest, so at most so much is lost.
/// A variant is slower if the call took longer than `fastest` by more than a tenth and is of
/// another implementation. A gap is time of the execution in which no call ran.
[[nodiscard]] std::vector<TraceFinding> find_trace_findings(
    const model::Graph& graph,
    const MatchedTrace& matched,
    std::span<const FastestVariant> fastest = {});

}  // namespace plumb::analysis
