// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/key/layer_cost.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/cache_rotation.hpp"
#include "runners/engine/bench/candidate.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {

/// Resources that the measurements of all keys in a process share. The references must outlive the
/// measurement.
struct Instruments {
  worker::Backend& backend;
  LayerTiming& timing;
  CacheFlush& flush;
  Bytes slot_memory;  ///< limit for one program's slots, and for all waiting programs together
};

/// Returns the short plan of a race. It suffices to find a variant that is 10% slower, but not to
/// compare variants. `first_call` longer than `budget` counts as warm-up.
[[nodiscard]] measure::SamplingPlan race_plan(const measure::SamplingPlan& full,
                                              Seconds budget,
                                              Seconds first_call);

/// Returns the plan for slow reference implementations: two or three executions, without warm-up.
[[nodiscard]] measure::SamplingPlan reference_plan(const measure::SamplingPlan& full);

/// Timer of one key's ready candidates, hot or with cold buffers. The constructor's references must
/// outlive it.
class CandidateTiming {
 public:
  CandidateTiming(Instruments instruments,
                  const worker::MeasureRequest& request,
                  model::LayerCost cost)
      : instruments_(instruments), request_(request), cost_(cost) {}

  void time_hot(Candidate& candidate, const measure::SamplingPlan& plan, results::Measurement& row);

  /// Times a candidate hot in several short blocks, and awaits a turn before each of them.
  void time_in_turns(Candidate& candidate,
                     const measure::SamplingPlan& plan,
                     const worker::AwaitTurn& await_turn,
                     results::Measurement& row);

  /// Times a candidate with the buffers cold that the row's cache mode names. The buffers rotate
  /// over enough slots, or are flushed where memory or time allow no rotation. Binds further slots
  /// with `operands`.
  void time_cold(Candidate& candidate,
                 const std::vector<model::Tensor>& operands,
                 results::Measurement& row);

 private:
  [[nodiscard]] Bytes rotating_bytes(const Candidate& candidate, results::CacheMode cache) const;

  Instruments instruments_;
  const worker::MeasureRequest& request_;
  model::LayerCost cost_;
};

}  // namespace plumb::engine
