// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/base/units.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Splits the end-to-end change of one model in one mode over the layers as they were executed
/// inside it. Each round is split; the terms are trimmed means of the differences, with their
/// standard errors. Layers are matched by key. Terms of their own are reorders, layers that only
/// one side executed, and the rest that no layer explains (launches, gaps, caches). Absent: fewer
/// than three rounds have both sides' layers. Pure.
[[nodiscard]] std::optional<RunComparison::Attribution> attribute_model(
    std::span<const results::PairedRound* const> rounds, const results::ModelMode& model);

/// Splits the difference of two single executions in the same way. The errors come from
/// `deviation`, the relative one of a process, on both sides of each term. The error of the
/// unexplained rest takes all terms as independent, so it is an upper limit. Absent: one of them
/// has no time or does not list its layers. Pure.
[[nodiscard]] std::optional<RunComparison::Attribution> attribute_model(
    const std::string& subject,
    const results::Execution& before,
    const results::Execution& after,
    double deviation);

/// Splits the change of every model that both sides executed over its layers. Adds the splits to
/// the comparison's attributions, and the parts as causes where the model changed. Pure.
void attribute_models(const RunComparison::Side& baseline,
                      const RunComparison::Side& candidate,
                      RunComparison& result);

/// Groups the layers that got worse by their cause, with the models of the baseline that execute
/// them. Pure.
[[nodiscard]] std::vector<RunComparison::Finding> group_findings(
    const RunComparison::Side& baseline, const std::vector<RunComparison::Layer>& layers);

/// Explanation of a changed metric by the functions that both sides executed, from profiles.
struct FunctionFinding {
  /// Part of a change that one function explains.
  struct Part {
    std::string function;  ///< as people read it
    std::string image;
    std::string step;  ///< whose part of the change is largest
    Seconds change{};  ///< in an execution
    Seconds low{};     ///< of the change, 95%
    Seconds high{};
    bool in_baseline = false;  ///< the baseline executed it
    bool in_candidate = false;
  };

  std::string series;           ///< the metric
  std::string model;            ///< that was profiled: subject_of() it, or the layer, alone
  std::string mode;             ///< in which it was profiled
  std::string measured_mode;    ///< of a model's metric; empty: an earlier version wrote none
  std::string layer;            ///< key; empty: the whole model
  bool control = false;         ///< the metric did not change
  std::optional<double> ratio;  ///< of the metric, as it was measured without samples
  std::optional<double> low;    ///< of the ratio, 95%
  std::optional<double> high;
  std::uint64_t baseline_samples = 0;  ///< of the model or layer
  std::uint64_t candidate_samples = 0;
  std::string problem;  ///< why no functions are named; empty: they are

  // What follows is known if there is no problem.
  Seconds baseline{};  ///< of the model or layer in an execution of the model, by the profiles
  Seconds candidate{};
  std::optional<Seconds> change_low;  ///< of change(), 95%; absent: an earlier version wrote none
  std::optional<Seconds> change_high;
  std::string
      interval_of;  ///< what intervals are by: to_text(GroupedSamples::Unit); empty: not known
  std::vector<Part> parts;  ///< those that certainly changed, largest change first

  /// Returns by how much the profiles differ, which need not be what the metric changed by.
  [[nodiscard]] Seconds change() const { return candidate - baseline; }
  /// Returns the part of change() that is no part of `parts`.
  [[nodiscard]] Seconds unexplained() const;
  /// Returns whether the metric was measured in another mode than the profiles.
  [[nodiscard]] bool has_other_mode() const {
    return !measured_mode.empty() && measured_mode != mode;
  }
  /// Returns whether change() and the metric's differ beyond the intervals of both. Absent: one
  /// has no interval, or they are of different modes.
  [[nodiscard]] std::optional<bool> disagrees() const;
};

}  // namespace plumb::analysis
