// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/stats/statistical_tests.hpp"
#include "harness/stats/two_levels.hpp"

namespace plumb::analysis {

/// Noise between runs of one environment, learned from its history.
///
/// For each series it takes the differences of runs up to five apart, of neighbours only below ten
/// runs. The median of their squares counts, so that a step in the history is one difference among
/// many. The variance that the scatter between processes explains is subtracted. The rest is shrunk
/// towards the noise of all series of its kind, and that towards an assumed value. Each prior is
/// worth kPriorFreedom degrees of freedom (empirical Bayes: Efron and Morris, JASA 70, 1975).
/// docs/reference/statistics.md has the formulas.
class LearnedNoise {
 public:
  /// Noise of a series between runs of unchanged code.
  struct Deviation {
    double relative =
        0.0;  ///< standard deviation of a run's ln(time), beside its processes' scatter
    double freedom = 0.0;  ///< degrees of freedom
    bool learned = false;  ///< from runs; else assumed
  };

  /// Times of a run's restarted processes, by series.
  struct RunTimes {
    /// ln(median in seconds) of each quiet process, by series: "layers/KEY" as the library chose
    /// it, hot, "models/SUBJECT/end_to_end/MODE/SCENARIO" or
    /// "models/SUBJECT/alternation/MODE/TURN".
    std::map<std::string, std::vector<double>> logs;
  };

  LearnedNoise() = default;
  /// Learns from `runs` of one environment, oldest first.
  explicit LearnedNoise(std::span<const RunTimes> runs);

  [[nodiscard]] Deviation of(const std::string& series) const;
  /// Returns ln(time) of a series' processes, one vector per run, oldest first.
  [[nodiscard]] std::span<const std::vector<double>> processes(const std::string& series) const;
  /// Returns the number of runs from which it was learned.
  [[nodiscard]] std::size_t runs() const { return runs_; }

  static constexpr double kAssumed = 0.009;  ///< deviation between runs, with nothing known
  static constexpr double kPriorFreedom = 3.0;
  static constexpr std::size_t kMinRuns = 3;  ///< from which on noise counts as learned

 private:
  struct Estimate {
    double variance = 0.0;
    double freedom = 0.0;
  };
  std::size_t runs_ = 0;
  std::map<std::string, std::vector<std::vector<double>>> processes_;
  std::map<std::string, Estimate> series_;
  std::map<std::string, Estimate> kinds_;  ///< "layers", "models", or a turn among other shapes
};

/// Calibration results for the environments that are compared.
struct CalibratedFloors {
  /// Relative noise of one series, as a calibration found it.
  struct Noise {
    double process = 0.0;  ///< standard deviation of one process's median
    double floor = 0.0;    ///< 2%, three of these deviations, or the timer's tick ÷ executions
  };

  std::map<std::string, Noise> series;  ///< "layers/KEY", "models/…/end_to_end/…"
  std::vector<std::string> runs;        ///< first run of each calibration used
  LearnedNoise learned;                 ///< from the runs of both environments
  /// Adds another environment's floors. For a series in both, the larger values hold.
  void join(const CalibratedFloors& other);
};

inline constexpr double kMinLayerFloor = 0.02;
inline constexpr double kEndToEndFloor = 0.01;

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

/// Significance levels, minimum effects and equivalence margins of a comparison.
struct ComparisonLimits {
  /// Limits by which a tested change is judged.
  struct Change {
    double level = 0.01;   ///< changed: q is below it
    double floor = 0.0;    ///< smaller relative changes count as none
    double margin = 0.01;  ///< equivalent: the interval lies within the larger of it and the floor
  };

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
  [[nodiscard]] Change of_model() const;
  [[nodiscard]] Change of_layer() const;
};

/// Comparison of one metric.
struct MetricComparison {
  /// Relative change below which a metric counts as unchanged.
  struct Floor {
    /// Source of a minimum effect.
    enum class Source {
      kFixed,       ///< by the rule alone, or by the user
      kCalibrated,  ///< from the series' own noise, which `plumb calibrate` measured
      kLearned,     ///< from the series' runs in this environment
      kAssumed,     ///< no calibration of the series in this environment, and too few runs
    };

    double relative = 0.0;
    Source source = Source::kFixed;
  };

  /// Possible cause of a change, with its evidence.
  struct Cause {
    std::string cause;
    double share = 0.0;  ///< of |delta| that it explains; 1: it is the only cause
    std::string evidence;
  };

  /// Two levels of a compared metric, and how many processes of each side are at either.
  struct Levels {
    double low_seconds = 0.0;
    double high_seconds = 0.0;
    stats::TwoLevels::Count known;  ///< processes of all known runs, both sides included
    stats::TwoLevels::Count baseline;
    stats::TwoLevels::Count candidate;
    std::string suspected_cause = "unknown";
  };

  /// Change of an output between two runs.
  struct Output {
    bool same_bits = false;
    std::optional<double> baseline_error;  ///< maximum, relative to max|reference|; absent: nothing
                                           ///< was compared
    std::optional<double> candidate_error;
  };

  /// Metric whose change was tested, in the family that it belongs to.
  struct FamilyMember {
    MetricComparison* metric = nullptr;  ///< with a ratio and its interval
    double p = 1.0;                      ///< two-sided, of this metric alone, times its weight
    ComparisonLimits::Change limits;
  };

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
  std::string model;             ///< subject_of() the instance; empty: of no one model
  std::optional<Output> output;  ///< of kind "accuracy", which has no times
  std::optional<Floor> floor;    ///< smaller changes count as none; absent: no limit
  std::optional<Levels> levels;  ///< of a bistable series
  bool in_bytes = false;         ///< `baseline` and `candidate` are bytes, not seconds
};

[[nodiscard]] std::string_view to_text(MetricComparison::Floor::Source source);

/// Returns the minimum effect between two runs that several processes timed. It is the largest of
/// `least`, what the series' calibration found, and two deviations of the difference of two runs.
/// If there is a calibration, the deviations count only where they were learned.
[[nodiscard]] MetricComparison::Floor run_floor(const CalibratedFloors& floors,
                                                const std::string& series,
                                                double least);

/// Returns the minimum effect of a layer: the largest of `least`, 2% and what its calibration
/// found. Without a calibration, three of the `assumed` deviations of a process take its place.
[[nodiscard]] MetricComparison::Floor layer_floor(const CalibratedFloors& floors,
                                                  const std::string& series,
                                                  double least,
                                                  double assumed);

/// Fills in ratio, interval and minimal detectable effect from the mean of ln(candidate ÷
/// baseline). Returns its two-sided p.
double test_change(MetricComparison& metric, const stats::TrimmedMean& log_ratio, double alpha);

/// Corrects the p-values of a family after Benjamini and Hochberg (JRSS B 57, 1995), and concludes
/// about each member by its limits. All designs of comparisons end here, once they have estimated
/// their changes; only the sequential rule concludes at its looks. A member with a reason keeps its
/// verdict.
void judge_family(std::span<const MetricComparison::FamilyMember> family);
/// Judges a metric that is a family of its own.
void judge_alone(MetricComparison& metric, double p, const ComparisonLimits::Change& limits);

/// Returns whether a metric is one of many of its kind: of a layer, or an output.
[[nodiscard]] bool is_detail(const MetricComparison& metric);
/// Returns the layer key that a metric is about; empty: it is about a model.
[[nodiscard]] std::string layer_key_of(const MetricComparison& metric);

inline constexpr std::size_t kMinPairs = 3;  ///< fewest that can show a change

/// Times of one metric on both sides, in seconds. Round i of one side was measured next to round i
/// of the other, each in a restarted process.
struct PairedSamples {
  /// Statistics of one metric's pairs, before corrections for its family.
  struct Metric {
    MetricComparison result;  ///< times and delta; a reason where they cannot be compared
    std::optional<stats::TrimmedMean> log_ratio;  ///< of candidate ÷ baseline; absent with a reason
  };

  std::string name;
  std::vector<double> baseline;
  std::vector<double> candidate;
};

/// Computes the statistics of one metric's pairs. Fewer than three pairs, sides of different
/// length, and times that are not positive give a reason instead. Pure.
[[nodiscard]] PairedSamples::Metric paired_metric(const PairedSamples& samples,
                                                  std::string series,
                                                  MetricKind kind = MetricKind::kLayer);

/// Returns the median of at least one value, in any order.
[[nodiscard]] double compute_median(std::vector<double> values);

}  // namespace plumb::analysis
