// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_load.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::analysis {

std::vector<results::ScenarioResult> newest_loads(std::span<const results::ScenarioResult> loads) {
  std::vector<results::ScenarioResult> newest;
  for (const results::ScenarioResult& load : loads) {
    const auto same =
        std::find_if(newest.begin(), newest.end(), [&](const results::ScenarioResult& other) {
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

void add_loads(std::span<const results::ScenarioResult> loads, ModelBounds& model) {
  model.loads = newest_loads(loads);
  for (const results::ScenarioResult& load : model.loads) {
    const results::LoadVerdict verdict = judge_load(load);
    for (const std::string& reason : results::list_reasons(load)) {
      model.findings.push_back(
          verdict == results::LoadVerdict::kNotExecuted
              ? fmt::format("scenario {} ({}) was not executed: {}: {}",
                            to_text(load.scenario),
                            load.mode,
                            to_text(load.outcome.kind),
                            reason)
              : fmt::format(
                    "scenario {} ({}) is INVALID: {}", to_text(load.scenario), load.mode, reason));
    }
    if (load.disturbance.disturbed) {
      model.disturbances.push_back(
          fmt::format("scenario {} ({}) was disturbed: run again when the host is quiet",
                      to_text(load.scenario),
                      load.mode));
    }
  }
}

}  // namespace plumb::analysis
