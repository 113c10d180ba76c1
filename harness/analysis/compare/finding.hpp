// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"

namespace plumb::analysis {

/// Change of a regressed layer's bound.
enum class BoundChange {
  kNotTested,
  kCapabilityLost,  ///< the fastest way to compute it got slower too: the bound is worse
  kChoiceOnly,      ///< something as fast as before is there, and the library no longer takes it
  kUndecided,       ///< tested, and the interval allows both
};
[[nodiscard]] std::string_view to_text(BoundChange change);

/// Finding about the baseline's implementation, tried with the candidate.
enum class ReplayFinding {
  kNotTested,
  kHeuristicChanged,  ///< there, and as fast: only the choice is another
  kKernelChanged,     ///< there, and slower
  kRemoved,           ///< not there any more
  kNotSeenAgain,      ///< both choose the same, and tried again it is as fast
  kUndecided,         ///< there, and the interval allows as fast and slower
};
[[nodiscard]] std::string_view to_text(ReplayFinding finding);

/// Tests of why a layer regressed, by fresh processes of both stacks.
struct PinnedVariantCheck {
  ReplayFinding finding = ReplayFinding::kNotTested;
  BoundChange bound = BoundChange::kNotTested;
  std::string replayed_variant;  ///< the candidate's, that is the baseline's choice; empty: none
  std::optional<MetricComparison> replay;  ///< the baseline's choice there and here
  std::string baseline_best;               ///< the fastest variant of each side…
  std::string candidate_best;
  std::optional<MetricComparison> best;  ///< …and their times
  std::string evidence;                  ///< a sentence
};

/// Split of one model's end-to-end change over the layers as they were executed inside it.
struct ModelAttribution {
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
struct QualificationFinding {
  std::string cause;
  std::string evidence;
  std::vector<std::string> layers;  ///< keys
  std::vector<std::string> models;  ///< subjects
  double delta_seconds = 0.0;       ///< summed over the layers, each once
};

/// Family and instruction set of an implementation, as far as its name shows them. Between versions
/// of a library, names change while the implementation stays. Family and instruction set change
/// less often.
struct ImplementationName {
  std::string family;           ///< "winograd", "brgemm", "jit_1x1", "gemm", "jit", "reference"…
  std::string instruction_set;  ///< "avx512_core"; empty: not in the name

  auto operator<=>(const ImplementationName&) const = default;
};

/// Returns the family and instruction set in a variant's text: "impl=brg_conv_fwd:avx512_core;…". A
/// text without a known family is its own family.
[[nodiscard]] ImplementationName implementation_name(std::string_view variant);

/// Returns the cause that the texts of a layer's variants suggest for a change of its time. The
/// first that differs counts: instruction set, family, implementation. If none differs, the same
/// implementation is slower.
[[nodiscard]] Cause implementation_cause(const std::string& baseline_variant,
                                         const std::string& candidate_variant);

/// Lists the causes in an attribution, as shares of |delta| with the sign of the change. First come
/// layers of at least two standard errors, then reorders, layers that only one side executes, and
/// the unexplained rest.
[[nodiscard]] std::vector<Cause> find_causes(const ModelAttribution& attribution);

/// Layers grouped by what made them slower. One cause is one finding, however many layers show it.
class FindingGroups {
 public:
  /// Adds one layer. The evidence of a cause's first layer stands for all.
  void add(const Cause& cause,
           const std::string& layer,
           double delta_seconds,
           const std::vector<std::string>& models);
  /// Returns the findings, largest loss of time first.
  [[nodiscard]] std::vector<QualificationFinding> findings() const;

 private:
  std::map<std::string, QualificationFinding> by_cause_;
};

}  // namespace plumb::analysis
