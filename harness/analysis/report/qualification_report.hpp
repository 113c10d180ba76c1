// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {

/// Earlier answer to the same question: the same suite, and stacks of the same names.
struct PastQualification {
  results::RunId run;  ///< the candidate's
  Timestamp finished{};
  QualificationVerdict verdict = QualificationVerdict::kNotEnoughEvidence;
  std::string reason;
};

/// Contents of a report on an upgrade. It is a value; every format renders the same one.
struct QualificationReport {
  Qualification qualification;
  std::vector<PastQualification> history;  ///< newest first; without this one
};

}  // namespace plumb::analysis
