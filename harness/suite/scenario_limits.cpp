// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/scenario_limits.hpp"

#include <fmt/format.h>

namespace plumb::suite {

std::optional<double> standard_percentile(loadgen::ScenarioName scenario) {
  if (scenario == loadgen::ScenarioName::kOffline) {
    return std::nullopt;
  }
  return scenario == loadgen::ScenarioName::kSingleStream ? 90.0 : 99.0;
}

std::string to_text(const Scenario& scenario) {
  const ScenarioLimits& limits = scenario.limits;
  std::string text;
  const auto add = [&text](const std::optional<Seconds>& limit, const char* name) {
    if (limit) {
      text += fmt::format("{}{} {:g} ms", text.empty() ? ": " : ", ", name, limit->count() * 1e3);
    }
  };
  add(limits.latency, "latency");
  add(limits.first_token, "first token");
  add(limits.per_token, "later tokens");
  const std::string_view name = to_text(scenario.name);
  return limits.percentile ? fmt::format("{} ({:g} %{})", name, *limits.percentile, text)
                           : std::string(name);
}

}  // namespace plumb::suite
