// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

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

}  // namespace plumb::analysis
