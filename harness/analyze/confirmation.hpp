// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analyze/run_comparison.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb {

/// Smallest share of a model's time from which on a layer may fail a gate.
inline constexpr double kMinDecidingShare = 0.01;

/// What looks slower, or is not known, after a first comparison: a gate measures it again.
struct Suspects {
  std::set<std::string> series;  ///< of the metrics: models and layers
  std::set<ModelMode> models;
  std::set<LayerKey> layers;

  [[nodiscard]] bool empty() const { return series.empty(); }
  /// Lists the models' subjects, each once.
  [[nodiscard]] std::set<std::string> subjects() const;
};

/// How little makes a metric a suspect.
enum class SuspectRule {
  kRegressed,  ///< for fresh processes, which meet the machine as it is now: regressed, no less
  kSlower,     ///< for pairs, which do not: models slower by 1 % or inconclusive by their numbers,
               ///< layers slower by 5 % at the 5 % level, too
};

/// Lists what a gate measures again: models that decide, and layers that decide or take at least
/// kMinDecidingShare of a model's time in the candidate. Of the layers the 24 that lost the most
/// time. Pure.
[[nodiscard]] Suspects find_suspects(const RunComparison& comparison,
                                     const RunSide& candidate,
                                     SuspectRule rule);

/// Returns the largest share that a layer has of a model's time: by the passes that time each layer
/// inside the model, and by the layers' own times in its cheapest cover. Pure.
[[nodiscard]] double largest_share(const RunSide& side, const LayerKey& key);

/// Pairs of restarted processes of the baseline's stack and the candidate's, on suspects alone.
struct PairedConfirmation {
  std::size_t rounds = 0;  ///< measured
  std::size_t valid = 0;   ///< of them
  bool drifted = false;    ///< the machine was another for one side
  std::vector<QualifiedMetric> metrics;
};
/// Writes a confirmation as the store keeps it.
[[nodiscard]] std::string to_json(const PairedConfirmation& confirmation);
/// Reads what to_json() wrote. Throws Error{kUser} naming the field at fault.
[[nodiscard]] PairedConfirmation paired_confirmation_from_json(std::string_view json);

/// Concludes anew from pairs of processes, which divide out what the machine did between the runs.
///
/// A suspect's numbers become those of its pairs. It is confirmed if the sequential rule calls it
/// regressed. Otherwise it is equivalent if the pairs' interval lies within the margin of runs, and
/// inconclusive if not. What changed and was no suspect is not confirmed either. Pure.
void conclude_pairs(const Suspects& suspects,
                    const PairedConfirmation& pairs,
                    const ComparisonLimits& limits,
                    RunComparison& comparison);

/// Concludes anew from what fresh processes of the candidate said of the suspects, for where the
/// baseline's stack is not at hand any more.
///
/// A suspect is confirmed if the fresh processes alone differ from the baseline in the same
/// direction, one-sided at 1 %, by its minimum effect at least; its numbers are then those of the
/// fresh processes, which did not raise the suspicion. A layer that is confirmed decides. What was
/// not confirmed is inconclusive, says so, and decides nothing. `again`: the comparison of the
/// baseline with the fresh processes alone. Pure.
void conclude_confirmation(const Suspects& suspects,
                           const RunComparison& again,
                           RunComparison& comparison);

}  // namespace plumb
