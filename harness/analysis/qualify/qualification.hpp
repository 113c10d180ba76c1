// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Answer to "may we upgrade?".
enum class QualificationVerdict { kApprove, kApproveWithExceptions, kReject, kNotEnoughEvidence };
[[nodiscard]] std::string_view to_text(QualificationVerdict verdict);

/// Complete data of a report on an upgrade.
struct Qualification {
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

  /// Look of the sequential rule.
  struct Look {
    std::size_t pairs = 0;
    std::size_t open = 0;  ///< metrics that need more pairs after it
  };

  /// Control of the comparison itself: how often pairs of a run differ from other pairs of it.
  struct Alarms {
    static constexpr std::size_t kMinTests = 20;  ///< fewer may all move together

    std::size_t tests = 0;
    std::size_t alarms = 0;
    double level = 0.05;  ///< of each test
    double low = 0.0;     ///< of the rate, 95% (Clopper and Pearson)
    double high = 1.0;

    /// Returns whether the rate of at least kMinTests certainly exceeds twice the level.
    [[nodiscard]] bool failed() const { return tests >= kMinTests && low > 2.0 * level; }
  };

  /// Geometric mean of candidate speed ÷ baseline speed: below one is slower.
  struct Mean {
    std::string mode;
    std::size_t models = 0;
    double value = 1.0;
    double low = 1.0;  ///< 95%
    double high = 1.0;
  };

  /// Acceptance criteria of an upgrade, fixed before the run. Ratios are relative changes: 0.02 is
  /// 2%. A growth counts only where it is also as large as its minimum.
  struct Criteria {
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

  /// Result of one criterion.
  struct Criterion {
    /// State of a criterion after a qualification.
    enum class State {
      kMet,
      kFailed,
      kWaived,  ///< failed, in cases that waivers cover
      kOpen,    ///< neither shown nor excluded
      kNotMeasured,
    };

    std::string criterion;  ///< "model_slowdown", as in the file
    std::string limit;      ///< "at most +2%"
    State state = State::kOpen;
    std::string found;               ///< a sentence with the numbers
    std::vector<std::string> cases;  ///< that fail it, or stay open
  };

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

  Criteria criteria;
  bool judged_again = false;       ///< the criteria came after the measurement
  std::vector<Criterion> results;  ///< of the criteria, in their order
  QualificationVerdict verdict = QualificationVerdict::kNotEnoughEvidence;
  std::string reason;  ///< one sentence

  std::vector<RoundComparison::Metric> models;  ///< each in each mode
  std::vector<RoundComparison::Metric> layers;
  std::vector<Mean> geometric_means;
  std::vector<RunComparison::Attribution> attributions;
  std::vector<RunComparison::Finding> findings;
  std::vector<FunctionFinding> functions;  ///< that explain changes, from profiles
  std::vector<Accuracy> accuracy;
  std::vector<Cost> costs;

  std::vector<RoundComparison::Control> controls;
  Alarms alarms;
  std::vector<RoundComparison::InvalidRound> invalid_rounds;
  std::vector<Look> looks;
  std::size_t rounds = 0;          ///< measured, the invalid ones too
  bool complete = true;            ///< false: stopped by the user or the budget
  bool machine_moved = false;      ///< it was not the same for both sides
  bool stack_changed = false;      ///< files of a stack, while it was measured
  bool control_failed = false;     ///< the A/A control by which it was judged
  std::vector<std::string> notes;  ///< what a reader must know: not measured, and why
};

[[nodiscard]] std::string_view to_text(Qualification::Criterion::State state);

/// Returns the words of a verdict on outputs: "same bits", "not measured".
[[nodiscard]] std::string_view to_text(Qualification::Accuracy::Verdict verdict);

/// Returns a qualification as the store keeps it and `--json` prints it: one object, without
/// `schema_version`.
[[nodiscard]] std::string to_json(const Qualification& qualification);
/// Parses what to_json() wrote. Throws Error{kUser} that names what is wrong.
[[nodiscard]] Qualification qualification_from_json(std::string_view json);

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
[[nodiscard]] RoundComparison::PinnedCheck judge_replay(const Qualification::ReplayTimes& times,
                                                        const MetricComparison& regression);

/// Contents of a report on an upgrade. It is a value; every format renders the same one.
struct QualificationReport {
  /// Earlier answer to the same question: the same suite, and stacks of the same names.
  struct Past {
    results::RunId run;  ///< the candidate's
    Timestamp finished{};
    QualificationVerdict verdict = QualificationVerdict::kNotEnoughEvidence;
    std::string reason;
  };

  Qualification qualification;
  std::vector<Past> history;  ///< newest first; without this one
};

/// Applies a qualification's criteria and waivers. Fills in `results`, which waivers applied,
/// `verdict` and `reason`. All other fields except `findings` must be filled in already.
///
/// A limit on a slow-down fails where a confirmed regression exceeds it. It is met where the 95%
/// interval stays below, and open otherwise. Criteria on times of models and layers are open where
/// the A/A control failed.
///
/// The first verdict that applies counts:
/// - not enough evidence: a stack changed, nothing was measured, or the machine moved;
/// - rejected: a criterion failed;
/// - not enough evidence: the qualification was stopped, or a criterion is open;
/// - approved with exceptions: what failed is waived;
/// - approved.
///
/// Pure.
void judge_criteria(Qualification& qualification);

/// Judges the evidence of a qualification again, by other criteria and waivers. Notes say so, and
/// what the verdict was. The limit on controls stays that of the measurement, which chose its
/// rounds by it. The A/A control is computed again. Pure.
void judge_again(Qualification& qualification, Qualification::Criteria criteria);

/// Fills in the evidence of the rounds other than the metrics. These are geometric means,
/// attributions, accuracy, costs, controls, the alarms of alarm_control(), invalid rounds and
/// deaths of workers. Takes over the metrics of `comparison`. Pure.
void add_evidence(std::span<const results::PairedRound> rounds,
                  RoundComparison comparison,
                  Qualification& qualification);

/// Compares the later half of the screening pairs with the earlier half, metric by metric.
///
/// A test is that of the verdicts: paired, at 5%, with moderated variances for layers. It compares
/// ratios of candidate ÷ baseline. A change between the stacks is in both halves, and a drift of
/// the machine in both times of a pair. So neither raises an alarm. Ratios that wander do: then
/// pairs are no independent evidence, and intervals are too narrow.
///
/// Needs six screening pairs. Metrics of one process may move together, and the interval of the
/// rate does not know it. Pure.
[[nodiscard]] Qualification::Alarms alarm_control(const Qualification& qualification);

/// Fills in causes and `findings`. The causes of a regressed or broken layer come from the names of
/// its variants and from the pinned variant check: instruction set, implementation family,
/// implementation, kernel, heuristic. Those of a changed model come from its attribution. Each
/// cause is one finding, with all its layers and models, largest first. Pure.
void add_findings(Qualification& qualification);

}  // namespace plumb::analysis
