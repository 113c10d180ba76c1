// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/compare/finding.hpp"
#include "harness/analysis/compare/metric_test.hpp"
#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/explain/function_finding.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Acceptance criteria of an upgrade, fixed before the run. Ratios are relative changes: 0.02 is
/// 2%. A growth counts only where it is also as large as its minimum.
struct QualificationCriteria {
  /// Excuse for one case, for a limited time.
  struct Waiver {
    std::string match;                         ///< a case's name; '*' stands for any characters
    std::string reason;                        ///< why it is acceptable
    std::string who;                           ///< who answers for it
    std::string expires;                       ///< last day it holds: "2027-01-31"
    bool expired = false;                      ///< on the day of the qualification
    std::vector<std::string> applied_to = {};  ///< cases that it covered in this qualification
  };

  std::string file;    ///< empty: the defaults
  std::string sha256;  ///< of the file; empty with the defaults
  double model_slowdown = 0.02;
  double geometric_mean = 0.995;  ///< of the speed-ups of all models in one mode, at least
  double layer_slowdown = 0.10;
  bool new_unsupported = false;  ///< whether a case may be lost
  double memory_growth = 0.05;
  double memory_minimum_bytes = 1 << 20;
  double creation_growth = 0.20;
  double creation_minimum_seconds = 0.001;
  double first_call_growth = 0.20;
  double first_call_minimum_seconds = 0.001;
  double control_drift =
      0.10;  ///< that a control may differ by within a round; see control_drift()
  std::optional<double> maximum_error;  ///< of an output, relative to max|reference|
  std::vector<Waiver> waivers;
};

/// State of a criterion after a qualification.
enum class CriterionState {
  kMet,
  kFailed,
  kWaived,  ///< failed, in cases that waivers cover
  kOpen,    ///< neither shown nor excluded
  kNotMeasured,
};
[[nodiscard]] std::string_view to_text(CriterionState state);

/// Result of one criterion.
struct CriterionResult {
  std::string criterion;  ///< "model_slowdown", as in the file
  std::string limit;      ///< "at most +2%"
  CriterionState state = CriterionState::kOpen;
  std::string found;               ///< a sentence with the numbers
  std::vector<std::string> cases;  ///< that fail it, or stay open
};

/// Answer to "may we upgrade?".
enum class QualificationVerdict { kApprove, kApproveWithExceptions, kReject, kNotEnoughEvidence };
[[nodiscard]] std::string_view to_text(QualificationVerdict verdict);

/// Geometric mean of candidate speed ÷ baseline speed: below one is slower.
struct ModeMean {
  std::string mode;
  std::size_t models = 0;
  double value = 1.0;
  double low = 1.0;  ///< 95%
  double high = 1.0;
};

/// Complete data of a report on an upgrade.
struct Qualification {
  /// Comparison of one cost other than the time: memory, creation, first call.
  struct Cost {
    std::string subject;
    std::string name;  ///< "memory", "creation", "first_call"
    std::string unit;  ///< "bytes" or "seconds"
    double baseline = 0.0;
    double candidate = 0.0;
    double ratio = 1.0;
    std::optional<double> low;  ///< of the ratio, 95%; absent: it does not vary between processes
    std::optional<double> high;
  };

  /// Comparison of what one layer or model computes under both stacks.
  struct Accuracy {
    /// Finding about the outputs of both sides.
    enum class Verdict {
      kSameBits,
      kWithinTolerance,
      kWorse,
      kWrong,
      kDiffers,  ///< and there is nothing to compare with
      kNotMeasured,
    };

    std::string subject;                   ///< key, or subject and mode
    std::optional<double> baseline_error;  ///< largest, relative to max|reference|
    std::optional<double> candidate_error;
    std::string baseline_hash;
    std::string candidate_hash;
    Verdict verdict = Verdict::kNotMeasured;
  };

  /// Side of a qualification: a stack and what was really loaded from it.
  struct Stack {
    std::string name;
    results::RunId run;         ///< holds all its rows
    std::string environment;    ///< 16 hex digits
    results::Facts libraries;   ///< versions, paths and hashes of what was mapped
    std::int64_t crashes = 0;   ///< of workers
    std::int64_t timeouts = 0;  ///< likewise
  };

  std::string suite;
  std::string suite_hash;
  Stack baseline;
  Stack candidate;
  std::vector<EnvironmentDifference> differences;  ///< between the environments
  std::vector<EnvironmentDifference> unchanged;    ///< what must not differ, and does not
  std::vector<std::string> command;                ///< that repeats it
  Timestamp started{};
  Timestamp finished{};

  QualificationCriteria criteria;
  bool judged_again = false;             ///< the criteria came after the measurement
  std::vector<CriterionResult> results;  ///< of the criteria, in their order
  QualificationVerdict verdict = QualificationVerdict::kNotEnoughEvidence;
  std::string reason;  ///< one sentence

  std::vector<QualifiedMetric> models;  ///< each in each mode
  std::vector<QualifiedMetric> layers;
  std::vector<ModeMean> geometric_means;
  std::vector<ModelAttribution> attributions;
  std::vector<QualificationFinding> findings;
  std::vector<FunctionFinding> functions;  ///< that explain changes, from profiles
  std::vector<Accuracy> accuracy;
  std::vector<Cost> costs;

  std::vector<QualifiedControl> controls;
  AlarmControl alarms;
  std::vector<InvalidRound> invalid_rounds;
  std::vector<QualificationLook> looks;
  std::size_t rounds = 0;          ///< measured, the invalid ones too
  bool complete = true;            ///< false: stopped by the user or the budget
  bool machine_moved = false;      ///< it was not the same for both sides
  bool stack_changed = false;      ///< files of a stack, while it was measured
  bool control_failed = false;     ///< the A/A control by which it was judged
  std::vector<std::string> notes;  ///< what a reader must know: not measured, and why
};

/// Returns the words of a verdict on outputs: "same bits", "not measured".
[[nodiscard]] std::string_view to_text(Qualification::Accuracy::Verdict verdict);

/// Returns a qualification as the store keeps it and `--json` prints it: one object, without
/// `schema_version`.
[[nodiscard]] std::string to_json(const Qualification& qualification);
/// Parses what to_json() wrote. Throws Error{kUser} that names what is wrong.
[[nodiscard]] Qualification qualification_from_json(std::string_view json);

/// Times of one regressed layer, measured by fresh processes of both sides.
struct ReplayTimes {
  std::string chosen;            ///< the baseline's choice
  std::string candidate_chosen;  ///< what regressed: the candidate's
  std::string replayed;          ///< the same variant of the candidate; empty: it has none
  PairedSamples replay;          ///< `chosen` by the baseline, `replayed` by the candidate
  std::string baseline_best;     ///< fastest variant of each
  std::string candidate_best;
  PairedSamples best;
};

/// Finds the baseline's choice among a candidate's variants: by its text, else by family and
/// instruction set of its name. Empty: there is none.
[[nodiscard]] std::string same_variant(const std::string& chosen,
                                       const std::vector<std::string>& variants);

/// Determines by test why a layer regressed. If the candidate lacks the baseline's implementation,
/// it was removed. The kernel changed if at least half of the regression (on the logarithm) shows
/// in that implementation. If less shows, the heuristic changed, or the regression was not seen
/// again where the candidate chooses the same. The bound is worse if at least half of the
/// regression shows in the fastest variants. Where a 95% interval allows more and less than half,
/// it is undecided. Pure.
[[nodiscard]] PinnedVariantCheck judge_replay(const ReplayTimes& times,
                                              const MetricComparison& regression);

}  // namespace plumb::analysis
