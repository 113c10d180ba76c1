// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Returns the cause that the texts of a layer's variants suggest for a change of its time. The
/// first that differs counts: instruction set, family, implementation. If none differs, the same
/// implementation is slower.
[[nodiscard]] MetricComparison::Cause implementation_cause(const std::string& baseline_variant,
                                                           const std::string& candidate_variant);

/// Chooses the metrics that decide, unless some do already. These are the models' end-to-end times,
/// else their bounds, else, without models, the layers.
void choose_what_decides(std::span<MetricComparison* const> metrics);

/// Concludes from all metrics of a comparison of runs. Broken: any metric is. Otherwise the metrics
/// that decide count, and outputs and loads that got worse. Other layers and costs only explain.
/// Pure.
[[nodiscard]] ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics);

/// Sorts stably: broken, regressed, improved, then the rest.
void put_changes_first(std::vector<MetricComparison>& metrics);

/// Returns whether two failures are of one kind and say the same, but for words with digits or
/// signs in them. Such words are numbers, addresses, paths and times. Pure.
[[nodiscard]] bool failed_alike(const results::Outcome& baseline,
                                const results::Outcome& candidate);

/// Concludes from two failures that are not alike. A graver one than before is broken. Any other
/// stays inconclusive, because somebody has to look at it. Fills in verdict and reason.
void judge_failures(const results::Outcome& baseline,
                    const results::Outcome& candidate,
                    MetricComparison& metric);

/// Differences between two runs, metric by metric. Broken metrics come first, then changed ones,
/// then the rest; bounds come before layers.
struct RunComparison {
  /// Split of one model's end-to-end change over the layers as they were executed inside it.
  struct Attribution {
    struct Term {
      std::string layer;  ///< key
      double seconds = 0.0;
      double error = 0.0;  ///< standard error
      std::string baseline_variant;
      std::string candidate_variant;
    };
    std::string subject;
    std::string mode;
    double delta_seconds = 0.0;
    double delta_error = 0.0;
    std::vector<Term> layers;      ///< largest magnitude first
    double reorder_seconds = 0.0;  ///< of bringing operands into layouts
    double reorder_error = 0.0;
    double unmatched_seconds = 0.0;  ///< layers that only one side executed
    double unmatched_error = 0.0;
    double unexplained_seconds = 0.0;
    double unexplained_error = 0.0;
  };

  /// One cause with everything that it explains. It is one finding, however many layers show it.
  struct Finding {
    std::string cause;
    std::string evidence;
    std::vector<std::string> layers;  ///< keys
    std::vector<std::string> models;  ///< subjects
    double delta_seconds = 0.0;       ///< summed over the layers, each once
  };

  /// Layers grouped by what made them slower.
  class FindingGroups {
   public:
    /// Adds one layer. The evidence of a cause's first layer stands for all.
    void add(const MetricComparison::Cause& cause,
             const std::string& layer,
             double delta_seconds,
             const std::vector<std::string>& models);
    /// Returns the findings, largest loss of time first.
    [[nodiscard]] std::vector<Finding> findings() const;

   private:
    std::map<std::string, Finding> by_cause_;
  };

  /// Family and instruction set of an implementation, as far as its name shows them. Between
  /// versions of a library, names change while the implementation stays. Family and instruction set
  /// change less often.
  struct Implementation {
    std::string family;  ///< "winograd", "brgemm", "jit_1x1", "gemm", "jit", "reference"…
    std::string instruction_set;  ///< "avx512_core"; empty: not in the name

    auto operator<=>(const Implementation&) const = default;
  };

  /// Side of a comparison of runs.
  struct Side {
    const ResultSet& results;
    std::span<const ModelBounds> models;
    std::map<std::string, std::vector<results::Execution>> executions =
        {};  ///< by subject_of() the model
  };

  /// Layer or benchmark that failed in both runs, and alike. Nothing changed, so no gate waits for
  /// it.
  struct NotCompared {
    std::string series;
    results::Outcome baseline;
    results::Outcome candidate;
  };

  /// Comparison of one layer between two runs, with the variant that each executed.
  struct Layer {
    MetricComparison metric;
    std::string key;               ///< empty: not the layer itself, but its capability
    std::string baseline_variant;  ///< empty: one side has no time
    std::string candidate_variant;
    std::optional<NotCompared> not_compared;  ///< then `metric` is no part of the comparison
  };

  /// Change of all metrics that decide, as one number: the geometric mean of their ratios.
  struct Overall {
    /// Series and kind are "geometric_mean" and "overall". Both times are geometric means too.
    MetricComparison metric;
    std::size_t metrics = 0;  ///< with a time in both runs
    std::size_t slower = 0;   ///< ratio above one, however little
    std::size_t faster = 0;
  };

  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  ProcessDeviation deviation;
  std::vector<MetricComparison> metrics;
  std::vector<NotCompared> not_compared;  ///< failed alike in both; they decide nothing
  std::optional<Overall> overall;         ///< of the metrics that decide
  std::vector<Attribution> attributions;  ///< of models whose layers both runs list
  std::vector<Finding> findings;          ///< what got worse, by its cause
};

/// Lists the causes in an attribution, as shares of |delta| with the sign of the change. First come
/// layers of at least two standard errors, then reorders, layers that only one side executes, and
/// the unexplained rest.
[[nodiscard]] std::vector<MetricComparison::Cause> find_causes(
    const RunComparison::Attribution& attribution);

/// Returns the family and instruction set in a variant's text: "impl=brg_conv_fwd:avx512_core;…". A
/// text without a known family is its own family.
[[nodiscard]] RunComparison::Implementation implementation_name(std::string_view variant);

/// Sums up the metrics that decide and have times on both sides. Absent: fewer than two have.
///
/// The interval and p come from the scatter of ln(candidate ÷ baseline) over the metrics. They say
/// what another choice of benchmarks would have given. LearnedNoise::kAssumed is added once for
/// each side, because a run may be slow in all of its metrics. The verdict stands beside that of
/// the comparison, which rests on the single metrics. Metrics without an interval of their own
/// count too. Pure.
[[nodiscard]] std::optional<RunComparison::Overall> overall_change(
    std::span<const MetricComparison> metrics, const ComparisonLimits& limits);

/// Fact of two environments: one in which they differ, or one that must not differ.
struct EnvironmentDifference {
  std::string name;
  std::string baseline;   ///< empty: absent
  std::string candidate;  ///< empty: absent
  bool identity = false;  ///< part of what makes two runs comparable
};

/// Lists the facts in which two environments differ. Those of the identity come first, each part in
/// order of name.
[[nodiscard]] std::vector<EnvironmentDifference> environment_diff(
    const results::Environment& baseline, const results::Environment& candidate);

/// Returns whether `--vary` names a fact. It may give the fact's own name, "stack" (all of
/// `library…`) or a prefix that ends before a dot.
[[nodiscard]] bool is_varied(const std::string& fact, std::span<const std::string> varied);

/// Returns whether a fact is a reading of the moment, which varies from run to run anyway. Readings
/// are load, clocks, temperatures, free memory, the harness overhead and the time of an import.
[[nodiscard]] bool is_reading(const std::string& fact);

/// Returns whether a fact only tells which of several equal devices was measured. Rows of one are
/// not reused for another, but runs may be compared (docs/adr/0014-equal-gpus-are-compared.md).
[[nodiscard]] bool names_device(const std::string& fact);

/// Returns whether two environments execute the same files with the same settings on the same
/// machine. Recorded facts decide: they may differ only in readings of the moment, names and paths,
/// and in which of several equal devices was measured.
/// False where either does not record its worker's file.
[[nodiscard]] bool is_same_software(const results::Environment& baseline,
                                    const results::Environment& candidate);

}  // namespace plumb::analysis
