// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/model/layer_cost.hpp"
#include "harness/model/layer_spec.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/worker_service.hpp"
#include "runners/engine/cache_rotation.hpp"
#include "runners/engine/layer_timing.hpp"
#include "runners/engine/verification.hpp"

namespace plumb {

/// Holds what the measurements of all keys in a process share. References: must outlive the
/// measurement.
struct Instruments {
  Backend& backend;
  LayerTiming& timing;
  CacheFlush& flush;
  Bytes slot_memory;  ///< that one program's slots may take, and all waiting programs together
};

/// Measures one key as a request says: prepares, verifies, races and times its variants, and hands
/// on each row.
///
/// Use once. Steps and constants: docs/MEASUREMENT.md.
class LayerMeasurement {
 public:
  LayerMeasurement(Instruments instruments,
                   const MeasureRequest& request,
                   const std::function<void(Measurement)>& emit);

  /// Emits at least one row for each cache mode. Throws only Error{kInternal}.
  void run();

 private:
  struct Candidate {
    Variant variant;
    std::unique_ptr<Program> program;  // null: refused, or dropped to save memory
    ProgramFacts facts;
    Measurement row;               // what all rows of this variant share
    Seconds bind{};                // of slot 0
    Seconds execution{};           // best guess so far
    std::optional<Seconds> raced;  // median of its race, floor-corrected
    std::size_t slots = 0;         // bound so far
    bool verified = false;
  };

  void measure_variants();
  void measure_all(std::vector<Candidate>& candidates);
  void measure_references(std::vector<Candidate>& candidates);
  [[nodiscard]] bool everybody() const;  // all that finish the race are measured in full
  [[nodiscard]] double margin() const;
  void race(std::vector<Candidate>& candidates);
  void race_one(Candidate& candidate, std::optional<Seconds> best, Measurement& row);
  void drop_losers(std::vector<Candidate>& candidates, Seconds best) const;

  /// Prepares, binds and verifies, unless done. Returns why not, in the candidate's row.
  bool make_ready(Candidate& candidate);
  void verify(Candidate& candidate);
  void measure_fully(Candidate& candidate,
                     const SamplingPlan& hot,
                     std::span<const CacheMode> caches);
  void time_hot(Candidate& candidate, const SamplingPlan& plan, Measurement& row);
  void time_cold(Candidate& candidate, Measurement& row);
  [[nodiscard]] Bytes rotating_bytes(const Candidate& candidate, CacheMode cache) const;

  /// Turns what `step` throws into the row's outcome.
  void guarded(Measurement& row, const std::function<void()>& step) const;
  void emit(Measurement row);
  void emit_failure(const Measurement& shared, Outcome outcome);
  void fill_missing_rows();

  Instruments instruments_;
  const MeasureRequest& request_;
  const std::function<void(Measurement)>& emit_;
  LayerSpec spec_;
  LayerCost cost_;
  std::vector<CacheMode> caches_;
  std::vector<Tensor> operands_;
  std::optional<Verifier> verifier_;
  std::vector<CacheMode> emitted_;  // cache modes that have a row which is not a race
  std::optional<Outcome> worst_;    // of the variants that could not be timed
  bool timed_ = false;              // some variant was
};

}  // namespace plumb
