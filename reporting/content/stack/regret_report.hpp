// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <vector>

#include "harness/analysis/library/heuristic_regret.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Contents of a report on the library's choices, with one part for each run.
struct RegretReport {
  std::vector<analysis::HeuristicRegret> runs;
};

/// Writes the output of `plumb regret`. The text shows the ten worst keys of each type, JSON fifty.
void write_regret(const RegretReport& report, OutputMode style, std::ostream& out);

/// Lists the formats of a report: HTML and Markdown with the fifty worst keys, JSON, text.
[[nodiscard]] std::span<const OutputFormat<RegretReport>> regret_formats();

}  // namespace plumb::reporting
