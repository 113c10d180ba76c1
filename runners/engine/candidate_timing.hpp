// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/layer_cost.hpp"
#include "harness/worker/worker_service.hpp"
#include "runners/engine/cache_rotation.hpp"
#include "runners/engine/candidate.hpp"
#include "runners/engine/layer_timing.hpp"

namespace plumb {

/// Resources that the measurements of all keys in a process share. References: must outlive the
/// measurement.
struct Instruments {
  Backend& backend;
  LayerTiming& timing;
  CacheFlush& flush;
  Bytes slot_memory;  ///< that one program's slots may take, and all waiting programs together
};

/// Returns the short plan of a race. It suffices to find a variant that is 10% slower, not to
/// compare.
[[nodiscard]] SamplingPlan race_plan(const SamplingPlan& full, Seconds budget, Seconds first_call);

/// Returns the brief plan of slow reference implementations: two or three executions, however long.
[[nodiscard]] SamplingPlan reference_plan(const SamplingPlan& full);

/// Times ready candidates of one key, hot or with cold buffers, into their rows. References must
/// outlive it.
class CandidateTiming {
 public:
  CandidateTiming(Instruments instruments, const MeasureRequest& request, LayerCost cost)
      : instruments_(instruments), request_(request), cost_(cost) {}

  void time_hot(Candidate& candidate, const SamplingPlan& plan, Measurement& row);

  /// Times with the buffers that the row's cache mode wants cold: rotated over enough slots, or
  /// flushed where memory or time allow no rotation. Binds further slots with `operands`.
  void time_cold(Candidate& candidate, const std::vector<Tensor>& operands, Measurement& row);

 private:
  [[nodiscard]] Bytes rotating_bytes(const Candidate& candidate, CacheMode cache) const;

  Instruments instruments_;
  const MeasureRequest& request_;
  LayerCost cost_;
};

}  // namespace plumb
