// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/history/series_history.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Returns a cause on one line: "commit 91bc07aa51e2 → 4f2a9c01d3b7".
[[nodiscard]] std::string cause_text(const analysis::OpenChange::Cause& cause);

/// Writes the output of `plumb triage`: open changes by their likely cause. The short text has the
/// largest five of each group.
void write_triage(std::span<const analysis::OpenChange::Group> groups,
                  const results::CommitLink& commits,
                  OutputMode style,
                  Detail detail,
                  std::ostream& out);

/// Writes the page `/triage`: open changes by their likely cause. If `decidable`, changes can be
/// chosen and decided about by whoever has the server's token.
void write_triage_page(std::span<const analysis::OpenChange::Group> groups,
                       const results::CommitLink& commits,
                       bool decidable,
                       std::ostream& out);

/// Returns the script of that page, which it loads from `/triage.js`.
[[nodiscard]] std::string_view triage_script();

/// Contents of the issue about a change, or about all changes of a run.
struct RegressionIssue {
  /// Commits between the two runs of a change, as a repository lists them.
  struct Commits {
    struct Commit {
      std::string hash;
      std::string subject;  ///< any bytes
    };
    std::size_t count = 0;
    std::vector<Commit> newest;  ///< the newest first; fewer than `count` where there are many
    std::string problem;         ///< why they are not known; empty: they are
  };

  std::vector<analysis::ChangeEvidence> changes;  ///< the largest first; at least one
  std::vector<std::string> commands;              ///< that measure them again; parallel
  results::CommitLink commits;
  std::optional<Commits> between = {};  ///< absent: no repository was asked
};

/// Draws a history as a picture of characters, the oldest value on the left. A line of dots and
/// values for each level of time. `mark` is the first value of the new level.
[[nodiscard]] std::string history_plot(std::span<const double> seconds, std::size_t mark);

/// Writes the text of an issue in Markdown below kMarkdownLimit: what changed, the history, how to
/// measure it again, and the suspects with their reasons, the likeliest first.
void write_issue(const RegressionIssue& issue, std::ostream& out);

}  // namespace plumb::reporting
