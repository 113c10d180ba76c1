// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/library/heuristic_regret.hpp"
#include "harness/analysis/library/stack_difference.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb stacks list` and `plumb stacks probe`.
void write_stacks(std::span<const analysis::StackReport> stacks,
                  OutputMode style,
                  std::ostream& out);

/// Writes the output of `plumb stacks diff`. The text shows the first symbols and layers, JSON all.
void write_stack_difference(const analysis::StackDifference& difference,
                            OutputMode style,
                            std::ostream& out);

/// Preview of an upgrade with the inputs that it was made for.
struct PreviewReport {
  /// One of the two library versions.
  struct Side {
    std::string stack;
    results::Environment environment;  ///< as its worker described itself
  };
  std::string suite;
  std::string gpu;      ///< as the driver calls it
  std::string profile;  ///< file of the GPU's properties
  std::string dtype;
  Side from;
  Side to;
  analysis::EnginePreview preview;
};

/// Writes the output of `plumb preview`.
void write_preview(const PreviewReport& report, OutputMode style, std::ostream& out);

/// Contents of a report on the library's choices, with one part for each run.
using RegretReport = std::vector<analysis::HeuristicRegret>;

/// Writes the output of `plumb regret`. The text shows the ten worst keys of each type, JSON fifty.
void write_regret(const RegretReport& report, OutputMode style, std::ostream& out);

/// Lists the formats of a report: HTML and Markdown with the fifty worst keys, JSON, text.
[[nodiscard]] std::span<const OutputFormat<RegretReport>> regret_formats();

}  // namespace plumb::reporting
