// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Report of `plumb compare --samples` on a file of paired rounds.
struct PairedReport {
  std::string file;
  analysis::ComparisonLimits limits;
  bool sequential = false;  ///< judged by the sequential rule
  std::vector<analysis::PairedAnswer> answers;
};

/// Lists the formats of `plumb compare --samples FILE -o`, which are those of a comparison of two
/// runs. JSON is the document of `--json`.
[[nodiscard]] std::span<const OutputFormat<PairedReport>> paired_formats();

}  // namespace plumb::reporting
