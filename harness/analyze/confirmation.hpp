// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "harness/analyze/run_comparison.hpp"

namespace plumb {

/// Smallest share of a model's time from which on a layer may fail a gate.
inline constexpr double kMinDecidingShare = 0.01;

/// What looks regressed after a first comparison and is measured again before anything is said.
struct Suspects {
  std::set<std::string> series;  ///< of the metrics: models and layers
  std::set<std::string> models;  ///< subject_of() the instance
  std::set<LayerKey> layers;

  [[nodiscard]] bool empty() const { return series.empty(); }
};

/// Lists what must be confirmed: regressed metrics that decide, and regressed layers that take at
/// least kMinDecidingShare of a model's time in the candidate. Pure.
[[nodiscard]] Suspects find_suspects(const RunComparison& comparison, const RunSide& candidate);

/// Returns the largest share that a layer has of a model's time: by the passes that time each layer
/// inside the model, and by the layers' own times in its cheapest cover. Pure.
[[nodiscard]] double largest_share(const RunSide& side, const LayerKey& key);

/// Concludes anew from what fresh processes said of the suspects.
///
/// A suspect is confirmed if the fresh processes alone differ from the baseline in the same
/// direction, one-sided at 1 %, by its floor at least; its numbers are then those of the fresh
/// processes, which did not raise the suspicion. A layer that is confirmed decides. What was not
/// confirmed is inconclusive, says so, and decides nothing. `again`: the comparison of the
/// baseline with the fresh processes alone. Pure.
void conclude_confirmation(const Suspects& suspects,
                           const RunComparison& again,
                           RunComparison& comparison);

}  // namespace plumb
