// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "harness/analysis/history/change_groups.hpp"
#include "harness/results/labels/commit_link.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Returns a cause on one line: "commit 91bc07aa51e2 → 4f2a9c01d3b7".
[[nodiscard]] std::string cause_text(const analysis::PossibleCause& cause);

/// Writes the output of `plumb triage`: open changes by their likely cause. The short text has the
/// largest five of each group.
void write_triage(std::span<const analysis::ChangeGroup> groups,
                  const results::CommitLink& commits,
                  OutputMode style,
                  Detail detail,
                  std::ostream& out);

/// Writes the page `/triage`: open changes by their likely cause. If `decidable`, changes can be
/// chosen and decided about by whoever has the server's token.
void write_triage_page(std::span<const analysis::ChangeGroup> groups,
                       const results::CommitLink& commits,
                       bool decidable,
                       std::ostream& out);

/// Returns the script of that page, which it loads from `/triage.js`.
[[nodiscard]] std::string_view triage_script();

}  // namespace plumb::reporting
