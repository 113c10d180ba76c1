// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Smallest share of a model's time at which a layer may fail a gate.
inline constexpr double kMinDecidingShare = 0.01;

/// Returns the largest share that a layer has of any model's time. Counted are the passes that time
/// each layer inside the model, and the layers' own times in its cheapest partition. Pure.
[[nodiscard]] double largest_share(const RunComparison::Side& side, const model::LayerKey& key);

/// Number of pairs after which a glance may clear a model that the runs call equivalent. Other
/// metrics, and models that the glance does not clear, go on to the looks of the sequential rule.
inline constexpr std::size_t kGlancePairs = 2;

/// Result of measuring suspects by pairs of restarted processes of both stacks.
struct PairedConfirmation {
  /// Metrics that look slower, or are undecided, after a first comparison. A gate measures them
  /// again.
  struct Suspects {
    /// Rule by which a metric becomes a suspect.
    enum class Rule {
      kRegressed,  ///< for fresh processes, which meet the machine as it is now: only regressed
      kSlower,     ///< for pairs, which do not: models that are not faster, or inconclusive, and
                   ///< layers that are slower by 5 % at the 5 % level, too
    };

    std::set<std::string> series;  ///< of the metrics: models and layers
    std::set<results::ModelMode> models;
    std::set<model::LayerKey> layers;
    std::set<results::ModelMode> equal = {};  ///< those of the models that the runs call equivalent

    [[nodiscard]] bool empty() const { return series.empty(); }
    /// Returns the models' subjects, each once.
    [[nodiscard]] std::set<std::string> subjects() const;
  };

  std::size_t rounds = 0;  ///< measured
  std::size_t valid = 0;   ///< rounds that count
  bool drifted = false;    ///< the machine was not the same for both sides
  std::vector<RoundComparison::Metric> metrics;
};

/// Lists what a gate measures again: suspects among the models that decide and among layers. A
/// layer must decide, or take at least kMinDecidingShare of a model's time in the candidate. At
/// most the 24 layers that lost the most time are taken. Pure.
[[nodiscard]] PairedConfirmation::Suspects find_suspects(const RunComparison& comparison,
                                                         const RunComparison::Side& candidate,
                                                         PairedConfirmation::Suspects::Rule rule);

/// Returns the models of `suspects.equal` whose first kGlancePairs pairs do not differ by 1 %, the
/// smallest change that is reported. None before there are so many valid rounds. Pure.
[[nodiscard]] std::set<results::ModelMode> cleared_at_glance(
    const PairedConfirmation::Suspects& suspects, const RoundComparison& rounds);

/// Returns a confirmation as the store keeps it: JSON.
[[nodiscard]] std::string to_json(const PairedConfirmation& confirmation);
/// Parses what to_json() wrote. Throws Error{kUser} naming the field at fault.
[[nodiscard]] PairedConfirmation paired_confirmation_from_json(std::string_view json);

/// Concludes again from pairs of processes, which cancel what the machine did between the runs.
///
/// A suspect's numbers become those of its pairs. It is confirmed if the sequential rule finds it
/// regressed and the machine did not drift. Otherwise it is equivalent if the pairs' interval lies
/// within the margin of runs and the machine did not drift, and inconclusive if not. What a glance
/// cleared stays equivalent by the runs' numbers. A regression in times that has no pairs becomes
/// inconclusive. Pure.
void conclude_pairs(const PairedConfirmation::Suspects& suspects,
                    const PairedConfirmation& pairs,
                    const ComparisonLimits& limits,
                    RunComparison& comparison);

/// Concludes again from fresh processes of the candidate, where the baseline's stack is no longer
/// available. `again` compares the baseline with the fresh processes alone.
///
/// A suspect is confirmed if the fresh processes differ from the baseline in the same direction,
/// one-sided at 1 %, and by at least the minimum effect. Its numbers are then those of the fresh
/// processes, which did not raise the suspicion, and it decides. A regression in times that is not
/// confirmed becomes inconclusive, says so, and decides nothing. Pure.
void conclude_confirmation(const PairedConfirmation::Suspects& suspects,
                           const RunComparison& again,
                           RunComparison& comparison);

}  // namespace plumb::analysis
