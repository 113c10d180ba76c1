// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Largest difference of the product between machines, or moments of one, that count as equally
/// fast. Copies may differ by twice that.
inline constexpr double kControlLimit = 0.10;

/// Describes the first control that differs by more than `limit`, or the copy by more than twice
/// that: "the control 'product' took 0.001 s and 0.0013 s, +30.0%". Absent: none does. Pure.
[[nodiscard]] std::optional<std::string> find_control_difference(const results::Controls& before,
                                                                 const results::Controls& after,
                                                                 double limit);

/// Current results of all metrics of some paired rounds.
struct RoundComparison {
  /// Tests of why a layer regressed, by fresh processes of both stacks.
  struct PinnedCheck {
    /// Change of a regressed layer's bound.
    enum class BoundChange {
      kNotTested,
      kCapabilityLost,  ///< the fastest way to compute it got slower too: the bound is worse
      kChoiceOnly,  ///< something as fast as before is there, and the library no longer takes it
      kUndecided,   ///< tested, and the interval allows both
    };

    /// Finding about the baseline's implementation, tried with the candidate.
    enum class Finding {
      kNotTested,
      kHeuristicChanged,  ///< there, and as fast: only the choice is another
      kKernelChanged,     ///< there, and slower
      kRemoved,           ///< not there any more
      kNotSeenAgain,      ///< both choose the same, and tried again it is as fast
      kUndecided,         ///< there, and the interval allows as fast and slower
    };

    Finding finding = Finding::kNotTested;
    BoundChange bound = BoundChange::kNotTested;
    std::string replayed_variant;  ///< the candidate's, that is the baseline's choice; empty: none
    std::optional<MetricComparison> replay;  ///< the baseline's choice there and here
    std::string baseline_best;               ///< the fastest variant of each side…
    std::string candidate_best;
    std::optional<MetricComparison> best;  ///< …and their times
    std::string evidence;                  ///< a sentence
  };

  /// Metric of a qualification: a model in one mode, or a layer.
  struct Metric {
    std::string subject;  ///< subject_of() the model; of a layer, its key
    std::string mode;     ///< "plain", "fusion"; empty: a layer
    MetricComparison test;
    std::string baseline_variant;           ///< a layer's, as the library chose it
    std::string candidate_variant;          ///< likewise
    std::vector<double> baseline_seconds;   ///< one per round, in the order measured
    std::vector<double> candidate_seconds;  ///< likewise; the same rounds
    std::size_t screening_pairs = 0;        ///< number of these rounds, from the first on
    std::size_t decided_at = 0;             ///< pairs, at the look that decided; 0: none did
    std::vector<std::string> models;        ///< subjects that a layer occurs in
    std::string place;                      ///< of a layer: "conv1 of lenet, and 2 more"
    PinnedCheck replay;                     ///< of a regressed layer
    std::string waived_by;  ///< the reason of the waiver that covers it; empty: none
  };

  /// Limits by which the metrics of paired rounds are judged.
  struct Limits {
    SequentialRule::Limits models{MetricKind::kEndToEnd,
                                  {.level = 0.01, .floor = 0.01, .margin = 0.01}};
    SequentialRule::Limits layers{
        MetricKind::kLayer, {.level = 0.05, .floor = 0.02, .margin = 0.02}, true};
    double control_drift = kControlLimit;  ///< see control_drift()
    CalibratedFloors floors = {};          ///< of both sides' layers
  };

  /// Round that does not count, and why.
  struct InvalidRound {
    std::size_t round = 0;
    std::string reason;
  };

  /// Control, measured in every process and independent of the libraries under test.
  struct Control {
    std::string name;  ///< "floor", "product", "copy"
    MetricComparison test;
    std::vector<double> baseline_seconds;  ///< one per round
    std::vector<double> candidate_seconds;
    bool moved = false;  ///< the machine was not the same for both sides
  };

  /// Drift of the machine, judged by the controls.
  struct Drift {
    std::vector<InvalidRound> invalid;
    std::vector<Control> controls;  ///< over the valid rounds
    bool moved = false;             ///< the machine drifted, or too many rounds are invalid
  };

  Drift drift;
  std::size_t valid = 0;  ///< rounds
  std::vector<Metric> models;
  std::vector<Metric> layers;
  std::set<results::ModelMode> open_models;  ///< what more rounds may decide
  std::set<model::LayerKey> open_layers;     ///< likewise

  [[nodiscard]] bool open() const { return !open_models.empty() || !open_layers.empty(); }
};

[[nodiscard]] std::string_view to_text(RoundComparison::PinnedCheck::BoundChange change);

[[nodiscard]] std::string_view to_text(RoundComparison::PinnedCheck::Finding finding);

/// Judges the rounds and the machine by the controls. A round is invalid if the product differs
/// between its two processes by more than `limit`, or the copy by more than twice that. It is also
/// invalid if a worker died before its controls were measured or the user stopped it. The machine
/// drifted (`moved`) if a control differs by more than 2% at the 1% level over the valid rounds, or
/// if more than a third of six or more rounds are invalid. Pure.
[[nodiscard]] RoundComparison::Drift control_drift(std::span<const results::PairedRound> rounds,
                                                   double limit);

/// Judges every metric that the rounds have measured, models first. Each family is judged by the
/// sequential rule, over the valid rounds. Rounds up to the rule's first look screen. The minimum
/// effect of a layer is layer_floor() without an assumed deviation, since pairs show their own.
///
/// Broken: the baseline works in every process, and the candidate is refused, wrong or out of
/// memory in one, falls back to a reference implementation, or dies in two or more. Broken metrics
/// are closed. So are metrics that the baseline refuses. Pure.
[[nodiscard]] RoundComparison compare_rounds(std::span<const results::PairedRound> rounds,
                                             const SequentialRule& rule,
                                             const RoundComparison::Limits& limits);

}  // namespace plumb::analysis
