// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <vector>

#include "harness/analyze/heuristic_regret.hpp"
#include "reporting/documents.hpp"
#include "reporting/output_format.hpp"

namespace plumb {

/// Contents of one report on the library's choices: one part a run.
struct RegretReport {
  std::vector<HeuristicRegret> runs;
};

/// `plumb regret`: the text shows the ten worst keys of each type, JSON fifty.
void write_regret(const RegretReport& report, Style style, std::ostream& out);

/// Lists the formats of a file: HTML and Markdown with the fifty worst keys, JSON, text.
[[nodiscard]] std::span<const OutputFormat<RegretReport>> regret_formats();

}  // namespace plumb
