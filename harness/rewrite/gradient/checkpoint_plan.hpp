// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// What to recompute of a chain, and what that costs.
struct CheckpointPlan {
  /// Stage of a chain: layers between two values through which all else flows.
  struct Stage {
    double recompute = 0.0;       ///< cost of its forward pass, its result included
    double recompute_last = 0.0;  ///< the same without what only its result needs
    std::int64_t inner = 0;       ///< bytes that its backward pass reads of its inside
    std::int64_t result = 0;      ///< bytes of its result, which the next stage reads
    std::int64_t backward = 0;    ///< bytes beside these while its backward pass runs
  };

  /// Forward pass of a micro-batch as a chain of stages. The forward pass is what its loss is
  /// computed from.
  struct Chain {
    std::vector<Stage> stages;
    std::vector<std::vector<model::LayerId>> layers;  ///< of each stage
    std::vector<model::ValueId> results;              ///< of each stage; the last one is the loss
  };

  /// Stretch of a chain: stages first … last. Either it is one stage that is kept, or only the
  /// result of its last stage is kept, and the rest is recomputed once before its backward pass.
  struct Stretch {
    std::size_t first = 0;
    std::size_t last = 0;
    bool recomputed = false;

    bool operator==(const Stretch&) const = default;
  };

  std::vector<Stretch> stretches;  ///< in order; together all stages
  double recomputation = 0.0;      ///< cost of what is computed a second time
  std::int64_t peak = 0;           ///< bytes of kept values and of the backward pass at once
};

/// Returns the peak and the cost of given stretches.
///
/// While the backward pass is in a stage, there are: what was kept of all earlier stretches, the
/// stages of its stretch up to this one, and the stage's `backward`. A kept stage holds `inner` and
/// `result`, a recomputed stretch holds the `result` of its last stage.
[[nodiscard]] CheckpointPlan price_stretches(std::span<const CheckpointPlan::Stage> chain,
                                             std::vector<CheckpointPlan::Stretch> stretches);

/// Finds the cheapest plan whose peak is at most `cap` bytes. Absent: no plan fits.
///
/// Exact, by dynamic programming over the stages: a state is the bytes that are kept so far. Of two
/// states one is dropped only where the other keeps no more and costs no more.
[[nodiscard]] std::optional<CheckpointPlan> cheapest_checkpoints(
    std::span<const CheckpointPlan::Stage> chain, std::int64_t cap);

/// Finds the plan with the lowest peak, and the lowest cost among those.
[[nodiscard]] CheckpointPlan smallest_checkpoints(std::span<const CheckpointPlan::Stage> chain);

/// Returns plans from the smallest to the one that keeps all, cheaper and larger from one to the
/// next. They are the cheapest ones under `caps` caps at equal distances.
[[nodiscard]] std::vector<CheckpointPlan> checkpoint_front(
    std::span<const CheckpointPlan::Stage> chain, std::size_t caps);

}  // namespace plumb::rewrite
