// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/history/change_groups.hpp"
#include "harness/results/labels/commit_link.hpp"

namespace plumb::reporting {

/// Contents of the issue about a change, or about all changes of a run.
struct RegressionIssue {
  std::vector<analysis::ChangeEvidence> changes;  ///< the largest first; at least one
  std::vector<std::string> commands;              ///< that measure them again; parallel
  results::CommitLink commits;
};

/// Draws a history as a picture of characters, the oldest value on the left. A line of dots and
/// values for each level of time. `mark` is the first value of the new level.
[[nodiscard]] std::string history_plot(std::span<const double> seconds, std::size_t mark);

/// Writes the text of an issue in Markdown below kMarkdownLimit: what changed, the history, how to
/// measure it again, and the suspects with their reasons, the likeliest first.
void write_issue(const RegressionIssue& issue, std::ostream& out);

}  // namespace plumb::reporting
