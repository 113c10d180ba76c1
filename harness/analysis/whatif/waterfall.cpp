// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/waterfall.hpp"

#include <algorithm>
#include <string_view>

#include "harness/analysis/whatif/mode_price.hpp"

namespace plumb::analysis {
namespace {

std::optional<measure::MeasuredTime> complete_bound(const ModelBounds& model,
                                                    results::BoundKind kind,
                                                    std::string_view mode) {
  const Bound* const found = find_complete(model, kind, mode);
  return found == nullptr ? std::nullopt
                          : std::optional(measure::MeasuredTime{found->seconds, found->interval});
}

/// Returns the execution that the library makes when it is asked for nothing, or the plain one.
const ExecutionTime* execution_now(const ModelBounds& model) {
  const ExecutionTime* now = nullptr;
  for (const ExecutionTime& execution : model.executions) {
    const bool better = execution.library_choice || (execution.mode == "plain" && now == nullptr);
    now = better && execution.samples > 0 ? &execution : now;
  }
  return now;
}

}  // namespace

std::vector<WaterfallLevel> compute_waterfall(const WhatIfInput& input, const ModelBounds& bounds) {
  const ExecutionTime* const now = execution_now(bounds);
  if (now == nullptr) {
    return {};
  }
  std::vector<WaterfallLevel> levels = {
      {"now", "measured end to end", {now->median, now->interval}}};
  const auto add =
      [&](const char* name, const char* what, const std::optional<measure::MeasuredTime>& time) {
        if (time && time->median < levels.back().time.median) {
          levels.push_back({name, what, *time});
        }
      };
  add("layers", "reorders, cold caches and gaps", price_mode(input, {}));
  add("fastest variants",
      "variants slower than the fastest",
      complete_bound(bounds, results::BoundKind::kLibrary, "plain"));
  add("fusion",
      "layers that could be one",
      complete_bound(bounds, results::BoundKind::kLibrary, "fusion"));
  add("occupancy",
      "processors that wait",
      complete_bound(bounds, results::BoundKind::kOccupancy, "fusion"));
  add("hardware",
      "kernels below this machine's ceilings",
      complete_bound(bounds, results::BoundKind::kHardware, "any"));
  return levels;
}

}  // namespace plumb::analysis
