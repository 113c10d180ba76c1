// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/layer_timing.hpp"
#include "runners/engine/bench/verification.hpp"

namespace plumb::engine {

/// One variant of a key on its way through verification, race and timing.
struct Candidate {
  /// Timer of one key's ready candidates, hot or with cold buffers. The constructor's references
  /// must outlive it.
  class Timing {
   public:
    /// Resources that the measurements of all keys in a process share. The references must outlive
    /// the measurement.
    struct Instruments {
      worker::Backend& backend;
      LayerTiming& timing;
      LayerTiming::CacheFlush& flush;
      Bytes slot_memory;  ///< limit for one program's slots, and for all waiting programs together
    };

    Timing(Instruments instruments,
           const worker::WorkerService::MeasureRequest& request,
           model::LayerCost cost)
        : instruments_(instruments), request_(request), cost_(cost) {}

    void time_hot(Candidate& candidate,
                  const measure::SamplingPlan& plan,
                  results::Measurement& row);

    /// Times a candidate hot in several short blocks, and awaits a turn before each of them.
    void time_in_turns(Candidate& candidate,
                       const measure::SamplingPlan& plan,
                       const worker::AwaitTurn& await_turn,
                       results::Measurement& row);

    /// Times a candidate with the buffers cold that the row's cache mode names. The buffers rotate
    /// over enough slots, or are flushed where memory or time allow no rotation. Binds further
    /// slots with `operands`.
    void time_cold(Candidate& candidate,
                   const std::vector<model::Tensor>& operands,
                   results::Measurement& row);

   private:
    [[nodiscard]] Bytes rotating_bytes(const Candidate& candidate, results::CacheMode cache) const;

    Instruments instruments_;
    const worker::WorkerService::MeasureRequest& request_;
    model::LayerCost cost_;
  };

  /// Preparation of the programs of one key's variants, until they can be timed.
  ///
  /// All programs get the same seeded operands. Each is verified at its first execution. The
  /// arguments of the constructor must outlive it.
  class Preparation {
   public:
    Preparation(worker::Backend& backend,
                const measure::Clock& clock,
                const worker::WorkerService::MeasureRequest& request,
                model::LayerSpec spec);

    /// Prepares the candidate's program, binds slot 0, executes it once and verifies the output.
    /// Does nothing if the program exists. Returns false if this fails; the candidate's row then
    /// says why.
    bool make_ready(Candidate& candidate);

    [[nodiscard]] const std::vector<model::Tensor>& operands() const { return operands_; }

   private:
    void verify(Candidate& candidate);

    worker::Backend& backend_;
    const measure::Clock& clock_;
    const worker::WorkerService::MeasureRequest& request_;
    model::LayerSpec spec_;
    std::vector<model::Tensor> operands_;
    std::optional<Verifier> verifier_;
  };

  worker::Variant variant;
  std::unique_ptr<worker::Program> program;  ///< null: refused, or dropped to save memory
  worker::Program::Facts facts;
  results::Measurement row;      ///< values that all rows of this variant share
  Seconds bind{};                ///< time to bind slot 0
  Seconds execution{};           ///< best estimate so far
  std::optional<Seconds> raced;  ///< median of its race, without the harness overhead
  std::size_t slots = 0;         ///< slots bound so far
  bool verified = false;
};

/// Runs `step` and turns an exception into an outcome: out of memory with the limit of the process,
/// unsupported, or crashed with the text. Rethrows Error{kInternal}.
void guarded(results::Outcome& outcome, const std::function<void()>& step);
inline void guarded(results::Measurement& row, const std::function<void()>& step) {
  guarded(row.outcome, step);
}

/// Refuses what needs more memory of the host than is free.
[[nodiscard]] results::Outcome check_free_memory(Bytes needed);

/// Adds how much executing and verifying a program takes, as far as that is known, to the reason of
/// an outcome of too little memory.
void add_needed_memory(results::Outcome& outcome, Bytes execution, Bytes verification);

/// Returns the short plan of a race. It suffices to find a variant that is 10% slower, but not to
/// compare variants. `first_call` longer than `budget` counts as warm-up.
[[nodiscard]] measure::SamplingPlan race_plan(const measure::SamplingPlan& full,
                                              Seconds budget,
                                              Seconds first_call);

/// Returns the plan for slow reference implementations: two or three executions, without warm-up.
[[nodiscard]] measure::SamplingPlan reference_plan(const measure::SamplingPlan& full);

}  // namespace plumb::engine
