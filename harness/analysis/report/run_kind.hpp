// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "harness/results/labels/run_marks.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Returns what made a run: "run", "sampled" by a profiler while it was timed, "import",
/// "calibration", "qualification", "bisection", or "pairs" of another command.
[[nodiscard]] inline std::string_view run_kind(const results::RunHeader& header) {
  if (header.stack == "external") {
    return "import";
  }
  if (results::has_mark(header.environment, results::kSampledMark)) {
    return "sampled";
  }
  if (!results::has_mark(header.environment, results::kPairedMark)) {
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

/// Returns whether a run is a point of a history, which a baseline may be. One side of pairs
/// belongs to its comparison, and a profiler slows the times that it samples.
[[nodiscard]] inline bool is_point_of_history(const results::RunHeader& header) {
  const std::string_view kind = run_kind(header);
  return kind == "run" || kind == "import";
}

/// Returns why a run is no point of a history, of one that is none.
[[nodiscard]] inline std::string why_no_history(const results::RunHeader& header) {
  const std::string_view kind = run_kind(header);
  return kind == "sampled" ? "was sampled while it was timed (--profile always), which costs time"
                           : "is one side of a comparison in pairs (" + std::string(kind) + ")";
}

}  // namespace plumb::analysis
