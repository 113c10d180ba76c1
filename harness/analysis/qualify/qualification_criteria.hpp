// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace plumb::analysis
