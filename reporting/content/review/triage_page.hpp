// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "harness/analysis/history/change_groups.hpp"
#include "harness/results/labels/commit_link.hpp"

namespace plumb::reporting {

/// Writes the page `/triage`: open changes by their likely cause. If `decidable`, changes can be
/// chosen and decided about by whoever has the server's token.
void write_triage_page(std::span<const analysis::ChangeGroup> groups,
                       const results::CommitLink& commits,
                       bool decidable,
                       std::ostream& out);

/// Returns the script of that page, which it loads from `/triage.js`.
[[nodiscard]] std::string_view triage_script();

}  // namespace plumb::reporting
