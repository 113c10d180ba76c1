// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb {

std::vector<ScenarioResult> newest_loads(std::span<const ScenarioResult> loads) {
  std::vector<ScenarioResult> newest;
  for (const ScenarioResult& load : loads) {
    const auto same = std::find_if(newest.begin(), newest.end(), [&](const ScenarioResult& other) {
      return other.mode == load.mode && other.scenario == load.scenario;
    });
    if (same == newest.end()) {
      newest.push_back(load);
    } else if (same->started <= load.started) {
      *same = load;
    }
  }
  return newest;
}

void add_loads(std::span<const ScenarioResult> loads, ModelBounds& model) {
  model.loads = newest_loads(loads);
  for (const ScenarioResult& load : model.loads) {
    const LoadVerdict verdict = verdict_of(load);
    for (const std::string& reason : reasons_of(load)) {
      model.findings.push_back(
          verdict == LoadVerdict::kNotExecuted
              ? fmt::format("scenario {} ({}) was not executed: {}: {}",
                            load.scenario,
                            load.mode,
                            to_text(load.outcome.kind),
                            reason)
              : fmt::format("scenario {} ({}) is INVALID: {}", load.scenario, load.mode, reason));
    }
    if (load.disturbance.disturbed) {
      model.disturbances.push_back(
          fmt::format("scenario {} ({}) was disturbed: run again when the host is quiet",
                      load.scenario,
                      load.mode));
    }
  }
}

}  // namespace plumb
