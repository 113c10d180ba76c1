// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

/// Layer of a step of training, in the order of execution, with the gradients that are ready after
/// it.
struct TimedLayer {
  Seconds time{};
  Bytes gradients;  ///< of weights, to be added up over all workers
  bool update = false;
};

/// Given communication: what it takes to add up a number of bytes over all workers.
struct Communication {
  Seconds latency{};       ///< of each exchange
  BytesPerSecond rate;     ///< of gradients added up, whatever algorithm does it
  Bytes bucket{25 << 20};  ///< gradients are exchanged together up to this size
};

/// Schedule of data-parallel steps: arithmetic over given communication times, not a measurement.
struct ExchangeSchedule {
  /// Exchange of one bucket in a schedule that begins with the step.
  struct Exchange {
    Bytes bytes;
    Seconds ready{};  ///< when the last of its gradients is computed
    Seconds begin{};
    Seconds end{};
  };

  std::vector<Exchange> exchanges;
  Seconds computation{};    ///< the step of one worker alone
  Seconds communication{};  ///< all exchanges, one after the other
  Seconds overlapped{};     ///< the step with exchanges beside the backward pass, updates last

  [[nodiscard]] Seconds after_each_other() const { return computation + communication; }
};

/// Schedules the exchanges: one at a time, each as soon as its bucket is full, while the layers go
/// on. Updates begin when all gradients have come (Li et al., "PyTorch Distributed", 2020, section
/// 3.2). Throws Error{kUser} for a rate or bucket that is not positive, or a negative latency.
[[nodiscard]] ExchangeSchedule schedule_exchanges(std::span<const TimedLayer> layers,
                                                  const Communication& communication);

/// Time of several epochs with an evaluation after each, in two ways.
struct EvaluationSchedule {
  Seconds in_turn{};       ///< the next epoch waits for the evaluation
  Seconds asynchronous{};  ///< evaluation on machines of its own, beside the next epoch
};
[[nodiscard]] EvaluationSchedule schedule_evaluations(std::size_t epochs,
                                                      Seconds epoch,
                                                      Seconds evaluation);

/// Layers of a step of training with their hot times by the library's own choice, or by the fastest
/// variant where that was not timed, as where it is slow reference code.
struct MeasuredStep {
  std::vector<Seconds> times;  ///< by layer; 0 for views and folded layers
  Seconds total{};
  std::string why_not;  ///< non-empty: no step of training, or a layer without a time
};
[[nodiscard]] MeasuredStep measured_step(const model::Graph& graph, const ResultSet& results);

/// Lists the layers in order with the gradients that updates wait for.
[[nodiscard]] std::vector<TimedLayer> timed_layers(const model::Graph& graph,
                                                   const MeasuredStep& step);

/// Step that computes some values again, with what that costs and saves.
struct PricedCheckpoints {
  std::size_t repeated = 0;  ///< layers that are executed twice
  model::GraphMemory memory;
  Seconds recomputation{};
};

/// Returns steps from the smallest memory to the one that keeps all, of which none is both slower
/// and larger than another.
[[nodiscard]] std::vector<PricedCheckpoints> price_checkpoints(const model::Graph& graph,
                                                               const MeasuredStep& step);

}  // namespace plumb::analysis
