// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/environment.hpp"

namespace plumb {

/// One fact in which two environments differ.
struct EnvironmentDifference {
  std::string name;
  std::string baseline;   ///< empty: absent
  std::string candidate;  ///< empty: absent
  bool identity = false;  ///< part of what makes two runs comparable
};

/// Lists the facts in which two environments differ: those of the identity first, each in order of
/// name.
[[nodiscard]] std::vector<EnvironmentDifference> environment_diff(const Environment& baseline,
                                                                  const Environment& candidate);

/// Returns whether `--vary` names a fact. It may give the fact's own name, "stack" (all of
/// `library…`) or a prefix that ends at a dot.
[[nodiscard]] bool is_varied(const std::string& fact, std::span<const std::string> varied);

/// Returns whether a fact is a reading of the moment, which varies from run to run anyway. Readings
/// are load, clocks, temperatures, the harness's overhead and the time of an import.
[[nodiscard]] bool is_reading(const std::string& fact);

/// Returns whether two environments execute the same files with the same settings on the same
/// machine. Judged by what is recorded: they may differ only in readings of the moment and in names
/// and places. False where one of them does not record its worker's file.
[[nodiscard]] bool is_same_software(const Environment& baseline, const Environment& candidate);

}  // namespace plumb
