// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/aa_study.hpp"
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

/// Contents of a report on the noise of a stack that was compared with itself.
struct NoiseReport {
  std::string suite;
  std::string stack;
  std::string environment;
  results::RunId first;
  results::RunId second;
  std::size_t calibrations = 0;  ///< that went into it, this one included
  AaStudy noise;
};

}  // namespace plumb::analysis
