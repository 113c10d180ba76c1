// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analyze/paired_comparison.hpp"
#include "reporting/output_format.hpp"

namespace plumb {

/// Report of `plumb compare --samples` on a file of paired rounds.
struct PairedReport {
  std::string file;
  ComparisonLimits limits;
  bool sequential = false;  ///< judged by the sequential rule
  std::vector<PairedAnswer> answers;
};

/// Lists what `plumb compare --samples FILE -o` writes: what a comparison of two runs does; JSON is
/// the document of `--json`.
[[nodiscard]] std::span<const OutputFormat<PairedReport>> paired_formats();

}  // namespace plumb
