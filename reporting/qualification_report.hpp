// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analyze/qualification.hpp"
#include "reporting/output_format.hpp"

namespace plumb {

/// Earlier answer to the same question: the same suite and stacks of the same names.
struct PastQualification {
  RunId run;  ///< the candidate's
  Timestamp finished{};
  QualificationVerdict verdict = QualificationVerdict::kNotEnoughEvidence;
  std::string reason;
};

/// Contents of a report on an upgrade; every format renders the same one.
struct QualificationReport {
  Qualification qualification;
  std::vector<PastQualification> history;  ///< newest first; without this one
};

/// Lists what a qualification is written as: a page to sign, Markdown, JSON, JUnit and workflow
/// commands of GitHub Actions.
[[nodiscard]] std::span<const OutputFormat<QualificationReport>> qualification_formats();

}  // namespace plumb
