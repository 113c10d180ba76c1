// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/combination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "harness/analysis/whatif/mode_price.hpp"
#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {
namespace {

using results::ExecutionMode;

constexpr std::array kOptions = std::to_array<bool ExecutionMode::*>({&ExecutionMode::best_variant,
                                                                      &ExecutionMode::fusion,
                                                                      &ExecutionMode::bf16,
                                                                      &ExecutionMode::f16,
                                                                      &ExecutionMode::tf32,
                                                                      &ExecutionMode::int8});

/// Returns a mode with one option more. Absent: it is on, or another type is.
std::optional<ExecutionMode> with_option(ExecutionMode mode, bool ExecutionMode::*option) {
  const bool is_type = option != &ExecutionMode::best_variant && option != &ExecutionMode::fusion;
  if (mode.*option || (is_type && !mode.other_type().empty())) {
    return std::nullopt;
  }
  mode.*option = true;
  mode.fusion = mode.fusion || mode.int8;  // 8 bits begin with a fused model
  return mode;
}

/// Returns whether a mode has more than one option that another could be without.
bool is_combined(const ExecutionMode& mode) {
  const bool fusion = mode.fusion && !mode.int8;
  return static_cast<int>(mode.best_variant) + static_cast<int>(fusion) +
             static_cast<int>(!mode.other_type().empty()) >
         1;
}

WhatIfResult describe(const ExecutionMode& mode,
                      const measure::MeasuredTime& baseline,
                      const measure::MeasuredTime& predicted) {
  WhatIfResult result;
  result.name = to_text(mode);
  result.execution_mode = result.name;
  result.combination = true;
  result.mode =
      fmt::format("{}, priced by its layers, hot; against the library's own choices", result.name);
  result.prerequisites = {"all that its parts need"};
  conclude(result, baseline, predicted);
  return result;
}

}  // namespace

std::vector<WhatIfResult> find_combinations(const WhatIfInput& input,
                                            std::span<const std::string> known) {
  ExecutionMode now;
  const std::optional<measure::MeasuredTime> baseline = price_mode(input, now);
  if (!baseline) {
    return {};
  }
  std::map<ExecutionMode, measure::MeasuredTime> priced;
  for (measure::MeasuredTime least = *baseline;;) {
    std::optional<ExecutionMode> best;
    for (bool ExecutionMode::*const option : kOptions) {
      const std::optional<ExecutionMode> mode = with_option(now, option);
      const std::optional<measure::MeasuredTime> time =
          mode ? price_mode(input, *mode) : std::nullopt;
      if (!time) {
        continue;
      }
      priced.emplace(*mode, *time);
      if (time->median < least.median) {
        best = mode;
        least = *time;
      }
    }
    if (!best) {
      break;
    }
    now = *best;
  }
  std::vector<WhatIfResult> found;
  for (const auto& [mode, time] : priced) {
    const bool is_known = std::find(known.begin(), known.end(), to_text(mode)) != known.end();
    if (is_combined(mode) && !is_known && time.median < baseline->median) {
      found.push_back(describe(mode, *baseline, time));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return *left.predicted < *right.predicted;
  });
  found.resize(std::min(found.size(), kMaxCombinations));
  return found;
}

}  // namespace plumb::analysis
