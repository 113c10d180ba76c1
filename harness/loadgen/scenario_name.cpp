// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/scenario_name.hpp"

#include <algorithm>

namespace plumb::loadgen {

std::string_view to_text(ScenarioName scenario) {
  return scenario == ScenarioName::kInteractive ? "interactive" : to_text(load_scenario(scenario));
}

std::optional<ScenarioName> parse_scenario_name(std::string_view text) {
  const auto* const found =
      std::find_if(kScenarioNames.begin(), kScenarioNames.end(), [&](ScenarioName scenario) {
        return to_text(scenario) == text;
      });
  return found == kScenarioNames.end() ? std::nullopt : std::optional(*found);
}

LoadScenario load_scenario(ScenarioName scenario) {
  switch (scenario) {
    case ScenarioName::kSingleStream:
      break;
    case ScenarioName::kMultiStream:
      return LoadScenario::kMultiStream;
    case ScenarioName::kServer:
    case ScenarioName::kInteractive:
      return LoadScenario::kServer;
    case ScenarioName::kOffline:
      return LoadScenario::kOffline;
  }
  return LoadScenario::kSingleStream;
}

ScenarioName name_of(LoadScenario scenario) {
  return parse_scenario_name(to_text(scenario)).value();
}

}  // namespace plumb::loadgen
