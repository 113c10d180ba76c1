// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/trace/matched_call.hpp"
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

}  // namespace plumb::analysis
