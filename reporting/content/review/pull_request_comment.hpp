// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/results/labels/run_labels.hpp"

namespace plumb::reporting {

/// Frame of a comment on a pull request: what it says beside the comparison.
struct CommentFrame {
  std::string name;           ///< a pull request has one comment of each name
  results::RunLabels labels;  ///< of the candidate
  results::CommitLink commits;
  std::string report_address;  ///< of the whole report, or of the job; empty: none
};

/// Returns the first line of a comment of a name, which a reader does not see.
[[nodiscard]] std::string comment_marker(const std::string& name);

/// Returns the command that measures a metric once more; empty: there is none.
using CommandOfMetric = std::function<std::string(const analysis::MetricComparison&)>;

/// Writes the comment on a comparison in Markdown below kMarkdownLimit. It has the verdict, what
/// changed with its interval and the command that measures it again, and what was not measured.
[[nodiscard]] std::string comment_text(const analysis::ComparisonReport& report,
                                       const CommandOfMetric& command,
                                       const CommentFrame& frame);
/// Writes the comment on a qualification likewise.
[[nodiscard]] std::string comment_text(const analysis::QualificationReport& report,
                                       const CommentFrame& frame);
/// Writes the comment of a job that has no result.
[[nodiscard]] std::string comment_without_verdict(const CommentFrame& frame);

}  // namespace plumb::reporting
