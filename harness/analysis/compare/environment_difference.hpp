// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Fact of two environments: one in which they differ, or one that must not differ.
struct EnvironmentDifference {
  std::string name;
  std::string baseline;   ///< empty: absent
  std::string candidate;  ///< empty: absent
  bool identity = false;  ///< part of what makes two runs comparable
};

/// Lists the facts in which two environments differ. Those of the identity come first, each part in
/// order of name.
[[nodiscard]] std::vector<EnvironmentDifference> environment_diff(
    const results::Environment& baseline, const results::Environment& candidate);

/// Returns whether `--vary` names a fact. It may give the fact's own name, "stack" (all of
/// `library…`) or a prefix that ends before a dot.
[[nodiscard]] bool is_varied(const std::string& fact, std::span<const std::string> varied);

/// Returns whether a fact is a reading of the moment, which varies from run to run anyway. Readings
/// are load, clocks, temperatures, free memory, the harness overhead and the time of an import.
[[nodiscard]] bool is_reading(const std::string& fact);

/// Returns whether a fact only tells which of several equal devices was measured. Rows of one are
/// not reused for another, but runs may be compared (docs/adr/0014-equal-gpus-are-compared.md).
[[nodiscard]] bool names_device(const std::string& fact);

/// Returns whether two environments execute the same files with the same settings on the same
/// machine. Recorded facts decide: they may differ only in readings of the moment, names and paths,
/// and in which of several equal devices was measured.
/// False where either does not record its worker's file.
[[nodiscard]] bool is_same_software(const results::Environment& baseline,
                                    const results::Environment& candidate);

}  // namespace plumb::analysis
