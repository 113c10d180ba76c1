// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/analysis/report/reports.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/report.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Places of a page. Pages of a server link to each other, and a file links to nothing.
enum class PagePlace { kFile, kServer };

/// Writes a page about what changed between two runs. It needs no script and prints well.
void write_comparison_page(const analysis::ComparisonReport& report,
                           PagePlace place,
                           std::ostream& out);

/// Writes the output of `plumb compare BASE CAND`.
void write_run_comparison(const analysis::ComparisonReport& report,
                          OutputMode style,
                          std::ostream& out);

/// Writes the output of `plumb run --json`: the document of `bound`, with the comparison of the run
/// as `comparison`. Several stacks give one document with a list `runs` of them.
void write_measured_runs(std::span<const analysis::RunReport> reports,
                         std::span<const analysis::ComparisonReport> comparisons,
                         std::ostream& out);

/// Lists the formats of `plumb compare -o` and `plumb report BASE..CAND -o`. These are a page,
/// Markdown for a pull request, JUnit, JSON, text, and workflow commands that a GitHub step prints
/// as annotations. In JUnit, what got worse is a failure, and what stays open is skipped.
[[nodiscard]] std::span<const OutputFormat<analysis::ComparisonReport>> comparison_formats();

/// Returns the texts on where a comparison of boots comes from. The report must have boots.
[[nodiscard]] analysis::ComparisonReport::Source boot_source(
    const analysis::ComparisonReport& report);

/// Report of `plumb compare --samples` on a file of paired rounds.
struct PairedReport {
  std::string file;
  analysis::ComparisonLimits limits;
  bool sequential = false;  ///< judged by the sequential rule
  std::vector<analysis::PairedComparison> answers;
};

/// Lists the formats of `plumb compare --samples FILE -o`, which are those of a comparison of two
/// runs. JSON is the document of `--json`.
[[nodiscard]] std::span<const OutputFormat<PairedReport>> paired_formats();

}  // namespace plumb::reporting
