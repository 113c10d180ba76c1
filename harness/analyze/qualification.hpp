// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analyze/metric_test.hpp"
#include "harness/analyze/qualification_criteria.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Answer to "may we upgrade?".
enum class QualificationVerdict { kApprove, kApproveWithExceptions, kReject, kNotEnoughEvidence };
[[nodiscard]] std::string_view to_text(QualificationVerdict verdict);

/// Change of a regressed layer's bound.
enum class BoundChange {
  kNotTested,
  kCapabilityLost,  ///< the fastest way to compute it got slower too: the bound is worse
  kChoiceOnly,      ///< something as fast as before is there, and the library no longer takes it
};
[[nodiscard]] std::string_view to_text(BoundChange change);

/// Findings on the baseline's implementation, when it was tried with the candidate.
enum class ReplayFinding {
  kNotTested,
  kHeuristicChanged,  ///< there, and as fast: only the choice is another
  kKernelChanged,     ///< there, and slower
  kRemoved,           ///< not there any more
  kNotSeenAgain,      ///< both choose the same, and tried again it is as fast
};
[[nodiscard]] std::string_view to_text(ReplayFinding finding);

/// One side of a qualification: a stack and what was really loaded from it.
struct QualifiedStack {
  std::string name;
  RunId run;                  ///< holds all its rows
  std::string environment;    ///< 16 hex digits
  Facts libraries;            ///< versions, paths and hashes of what was mapped
  std::int64_t crashes = 0;   ///< of workers
  std::int64_t timeouts = 0;  ///< likewise
};

/// One fact of both environments, as a report lists it.
struct QualifiedFact {
  std::string name;
  std::string baseline;
  std::string candidate;
  bool identity = false;  ///< part of what makes two runs comparable
};

/// Tests of why a layer regressed, by fresh processes of both stacks.
struct CrossReplay {
  ReplayFinding finding = ReplayFinding::kNotTested;
  BoundChange bound = BoundChange::kNotTested;
  std::string replayed_variant;  ///< the candidate's, that is the baseline's choice; empty: none
  std::optional<MetricComparison> replay;  ///< the baseline's choice there and here
  std::string baseline_best;               ///< the fastest variant of each side…
  std::string candidate_best;
  std::optional<MetricComparison> best;  ///< …and their times
  std::string evidence;                  ///< a sentence
};

/// One metric of a qualification: a model in one mode, or a layer.
struct QualifiedMetric {
  std::string subject;  ///< subject_of() the model; of a layer, its key
  std::string mode;     ///< "plain", "fusion"; empty: a layer
  MetricComparison test;
  std::string baseline_variant;           ///< a layer's, as the library chose it
  std::string candidate_variant;          ///< likewise
  std::vector<double> baseline_seconds;   ///< one a round, in the order measured
  std::vector<double> candidate_seconds;  ///< likewise; the same rounds
  std::size_t screening_pairs = 0;        ///< of these rounds, the first so many
  std::size_t decided_at = 0;             ///< pairs, at the look that decided; 0: none did
  std::vector<std::string> models;        ///< subjects that a layer occurs in
  CrossReplay replay;                     ///< of a regressed layer
  std::string waived_by;                  ///< the reason of the waiver that covers it; empty: none
};

/// Splits one model's end-to-end change over the layers as they were executed inside it.
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

/// One cause with everything it explains. It is one finding, however many layers it shows in.
struct QualificationFinding {
  std::string cause;
  std::string evidence;
  std::vector<std::string> layers;  ///< keys
  std::vector<std::string> models;  ///< subjects
  double delta_seconds = 0.0;       ///< summed over the layers, each once
};

/// Compares what one layer or model computes under both stacks.
struct QualifiedAccuracy {
  std::string subject;                   ///< key, or subject and mode
  std::optional<double> baseline_error;  ///< largest, relative to max|reference|
  std::optional<double> candidate_error;
  std::string baseline_hash;
  std::string candidate_hash;
  std::string verdict;  ///< "same bits", "within tolerance", "worse", "wrong", "differs"
                        ///< (and nothing to compare with) or "not measured"
};

/// Compares a cost beside the time: memory, creation, first call.
struct QualifiedCost {
  std::string subject;
  std::string name;  ///< "memory", "creation", "first_call"
  std::string unit;  ///< "bytes" or "seconds"
  double baseline = 0.0;
  double candidate = 0.0;
  double ratio = 1.0;
  std::optional<double> low;  ///< of the ratio, 95%; absent: it does not vary between processes
  std::optional<double> high;
};

/// One control, measured in every process and independent of the libraries under test.
struct QualifiedControl {
  std::string name;  ///< "floor", "product", "copy"
  MetricComparison test;
  std::vector<double> baseline_seconds;  ///< one a round
  std::vector<double> candidate_seconds;
  bool moved = false;  ///< the machine was another for one side
};

/// Compares each stack with itself, round against round: what this run's machine alone alarms.
struct AlarmControl {
  std::size_t tests = 0;
  std::size_t alarms = 0;
  double level = 0.05;  ///< of each test
  double low = 0.0;     ///< of the rate, 95% (Clopper and Pearson)
  double high = 1.0;
};

struct InvalidRound {
  std::size_t round = 0;
  std::string reason;
};

/// One look of the sequential rule.
struct QualificationLook {
  std::size_t pairs = 0;
  std::size_t open = 0;  ///< metrics that need more pairs after it
};

/// Geometric mean of candidate speed ÷ baseline speed: below one is slower.
struct GeometricMean {
  std::string mode;
  std::size_t models = 0;
  double value = 1.0;
  double low = 1.0;  ///< 95%
  double high = 1.0;
};

/// Complete data of a report on an upgrade.
struct Qualification {
  std::string suite;
  std::string suite_hash;
  QualifiedStack baseline;
  QualifiedStack candidate;
  std::vector<QualifiedFact> differences;  ///< between the environments
  std::vector<QualifiedFact> unchanged;    ///< what must not differ, and does not
  std::vector<std::string> command;        ///< that repeats it
  Timestamp started{};
  Timestamp finished{};

  QualificationCriteria criteria;
  std::vector<CriterionResult> results;  ///< of the criteria, in their order
  QualificationVerdict verdict = QualificationVerdict::kNotEnoughEvidence;
  std::string reason;  ///< one sentence

  std::vector<QualifiedMetric> models;  ///< each in each mode
  std::vector<QualifiedMetric> layers;
  std::vector<GeometricMean> geometric_means;
  std::vector<ModelAttribution> attributions;
  std::vector<QualificationFinding> findings;
  std::vector<QualifiedAccuracy> accuracy;
  std::vector<QualifiedCost> costs;

  std::vector<QualifiedControl> controls;
  AlarmControl alarms;
  std::vector<InvalidRound> invalid_rounds;
  std::vector<QualificationLook> looks;
  std::size_t rounds = 0;          ///< measured, the invalid ones too
  bool complete = true;            ///< false: stopped by the user or the budget
  std::vector<std::string> notes;  ///< what a reader must know: not measured, and why
};

/// Writes a qualification as the store keeps it and `--json` prints it: one object, without
/// `schema_version`.
[[nodiscard]] std::string to_json(const Qualification& qualification);
/// Reads what to_json wrote. Throws Error{kUser} that names what is wrong.
[[nodiscard]] Qualification qualification_from_json(std::string_view json);

}  // namespace plumb
