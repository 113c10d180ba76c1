// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/minimum_effect.hpp"
#include "harness/stats/means.hpp"
#include "harness/stats/two_levels.hpp"

namespace plumb::analysis {

/// Conclusion of a comparison about one metric, or as a whole.
enum class ComparisonVerdict { kBroken, kRegressed, kImproved, kEquivalent, kInconclusive };
[[nodiscard]] std::string_view to_text(ComparisonVerdict verdict);

/// What a compared metric is of. Its text stands in reports and exports: "end_to_end".
enum class MetricKind {
  kEndToEnd,     ///< a model's execution
  kLayer,        ///< a layer's fastest variant
  kCapability,   ///< a layer's variant that one side alone has
  kBound,        ///< a lower bound of a model
  kLoad,         ///< a load of a model by a scenario
  kAlternation,  ///< a model's execution among its other shapes
  kCost,         ///< making a layer's primitive, its first call, its memory
  kAccuracy,     ///< an output, without times
  kControl,      ///< a control of the machine
  kReplay,       ///< a pinned variant, executed again
  kOverall       ///< the mean over models
};
[[nodiscard]] std::string_view to_text(MetricKind kind);

/// Limits by which a tested change is judged.
struct ChangeLimits {
  double level = 0.01;   ///< changed: q is below it
  double floor = 0.0;    ///< smaller relative changes count as none
  double margin = 0.01;  ///< equivalent: the interval lies within the larger of it and the floor
};

/// Significance levels, minimum effects and equivalence margins of a comparison.
struct ComparisonLimits {
  double alpha = 0.01;                 ///< false alarms of the end-to-end test
  double false_discovery_rate = 0.05;  ///< over the layers of one question
  double end_to_end_floor = 0.0;       ///< smaller relative changes count as none
  double layer_floor = 0.0;
  double end_to_end_margin = 0.01;  ///< equivalent: the interval lies within it
  double layer_margin = 0.02;
  // Margins between two runs, each with several processes but at its own time. They resolve less
  // than pairs.
  double run_margin = 0.10;        ///< of a model
  double run_layer_margin = 0.20;  ///< of a layer

  /// Return the limits of a metric that was measured in pairs.
  [[nodiscard]] ChangeLimits of_model() const;
  [[nodiscard]] ChangeLimits of_layer() const;
};

/// Possible cause of a change, with its evidence.
struct Cause {
  std::string cause;
  double share = 0.0;  ///< of |delta| that it explains; 1: it is the only cause
  std::string evidence;
};

/// Change of an output between two runs.
struct OutputChange {
  bool same_bits = false;
  std::optional<double> baseline_error;  ///< maximum, relative to max|reference|; absent: nothing
                                         ///< was compared
  std::optional<double> candidate_error;
};

/// Two levels of a compared metric, and how many processes of each side are at either.
struct LevelChange {
  double low_seconds = 0.0;
  double high_seconds = 0.0;
  stats::LevelCount known;  ///< processes of all known runs, both sides included
  stats::LevelCount baseline;
  stats::LevelCount candidate;
  std::string suspected_cause = "unknown";
};

/// Comparison of one metric.
struct MetricComparison {
  std::string series;  ///< "end_to_end", "layers/NAME", "models/NAME/…"
  MetricKind kind = MetricKind::kEndToEnd;
  double baseline = 0.0;  ///< median, seconds; without a meaning where there is no `ratio`
  double candidate = 0.0;
  std::optional<double> ratio;  ///< candidate ÷ baseline
  double low = 0.0;             ///< of the ratio, 95%; with `ratio`
  double high = 0.0;
  bool has_interval = true;       ///< false: one sample of a side shows no noise, `low` and `high`
                                  ///< are the ratio
  std::optional<double> p;        ///< two-sided, of this metric alone
  bool decides = false;           ///< the verdict of the whole rests on it
  bool by_processes = false;      ///< judged by restarted processes of both sides
  std::optional<bool> confirmed;  ///< by fresh processes; absent: it was no suspect
  std::optional<double> q;        ///< corrected for its family; p where the metric stands alone
  std::optional<double> mde;      ///< smallest relative change found in 80% of cases at `alpha`
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::string reason;  ///< why inconclusive or broken, where it is not the numbers
  double delta = 0.0;  ///< candidate − baseline, seconds
  double error = 0.0;  ///< its standard error
  std::vector<Cause> causes;
  std::string model;                   ///< subject_of() the instance; empty: of no one model
  std::optional<OutputChange> output;  ///< of kind "accuracy", which has no times
  std::optional<MinimumEffect> floor;  ///< smaller changes count as none; absent: no limit
  std::optional<LevelChange> levels;   ///< of a bistable series
  bool in_bytes = false;               ///< `baseline` and `candidate` are bytes, not seconds
};

/// Fills in ratio, interval and minimal detectable effect from the mean of ln(candidate ÷
/// baseline). Returns its two-sided p.
double test_change(MetricComparison& metric, const stats::TrimmedMean& log_ratio, double alpha);

/// Metric whose change was tested, in the family that it belongs to.
struct FamilyMember {
  MetricComparison* metric = nullptr;  ///< with a ratio and its interval
  double p = 1.0;                      ///< two-sided, of this metric alone, times its weight
  ChangeLimits limits;
};

/// Corrects the p-values of a family after Benjamini and Hochberg (JRSS B 57, 1995), and concludes
/// about each member by its limits. All designs of comparisons end here, once they have estimated
/// their changes; only the sequential rule concludes at its looks. A member with a reason keeps its
/// verdict.
void judge_family(std::span<const FamilyMember> family);
/// Judges a metric that is a family of its own.
void judge_alone(MetricComparison& metric, double p, const ChangeLimits& limits);

/// Returns whether a metric is one of many of its kind: of a layer, or an output.
[[nodiscard]] bool is_detail(const MetricComparison& metric);
/// Returns the layer key that a metric is about; empty: it is about a model.
[[nodiscard]] std::string layer_key_of(const MetricComparison& metric);

inline constexpr std::size_t kMinPairs = 3;  ///< fewest that can show a change

/// Times of one metric on both sides, in seconds. Round i of one side was measured next to round i
/// of the other, each in a restarted process.
struct PairedSamples {
  std::string name;
  std::vector<double> baseline;
  std::vector<double> candidate;
};

/// Statistics of one metric's pairs, before corrections for its family.
struct PairedMetric {
  MetricComparison result;  ///< times and delta; a reason where they cannot be compared
  std::optional<stats::TrimmedMean> log_ratio;  ///< of candidate ÷ baseline; absent with a reason
};

/// Computes the statistics of one metric's pairs. Fewer than three pairs, sides of different
/// length, and times that are not positive give a reason instead. Pure.
[[nodiscard]] PairedMetric paired_metric(const PairedSamples& samples,
                                         std::string series,
                                         MetricKind kind = MetricKind::kLayer);

/// Returns the median of at least one value, in any order.
[[nodiscard]] double compute_median(std::vector<double> values);

}  // namespace plumb::analysis
