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
#include "harness/analysis/compare/rounds/round_evidence.hpp"
#include "harness/analysis/explain/function_finding.hpp"
#include "harness/analysis/qualify/qualification_criteria.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Answer to "may we upgrade?".
enum class QualificationVerdict { kApprove, kApproveWithExceptions, kReject, kNotEnoughEvidence };
[[nodiscard]] std::string_view to_text(QualificationVerdict verdict);

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
    std::string subject;                   ///< key, or subject and mode
    std::optional<double> baseline_error;  ///< largest, relative to max|reference|
    std::optional<double> candidate_error;
    std::string baseline_hash;
    std::string candidate_hash;
    std::string verdict;  ///< "same bits", "within tolerance", "worse", "wrong", "differs"
                          ///< (and nothing to compare with) or "not measured"
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
  std::vector<GeometricMean> geometric_means;
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
  std::vector<std::string> notes;  ///< what a reader must know: not measured, and why
};

/// Returns a qualification as the store keeps it and `--json` prints it: one object, without
/// `schema_version`.
[[nodiscard]] std::string to_json(const Qualification& qualification);
/// Parses what to_json() wrote. Throws Error{kUser} that names what is wrong.
[[nodiscard]] Qualification qualification_from_json(std::string_view json);

}  // namespace plumb::analysis
