// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Returns what made a run: "run", "import", "calibration", "qualification", "bisection", or
/// "pairs" of another command.
[[nodiscard]] inline std::string_view run_kind(const results::RunHeader& header) {
  if (header.stack == "external") {
    return "import";
  }
  const auto method = header.environment.identity.find("method");
  if (method == header.environment.identity.end() || !method->second.ends_with(" paired")) {
    return "run";
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kCommands{
      {{"calibrate", "calibration"}, {"qualify", "qualification"}, {"bisect", "bisection"}}};
  for (const auto& [command, kind] : kCommands) {
    if (header.command.size() > 1 && header.command[1] == command) {
      return kind;
    }
  }
  return "pairs";
}

/// Returns whether a run is one side of pairs. Such runs belong to their comparison, and are no
/// points of a history.
[[nodiscard]] inline bool is_side_of_pairs(const results::RunHeader& header) {
  const std::string_view kind = run_kind(header);
  return kind != "run" && kind != "import";
}

}  // namespace plumb::analysis
