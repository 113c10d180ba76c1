// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "harness/loadgen/load_settings.hpp"

namespace plumb::loadgen {

/// Scenario of MLPerf Inference by which a model is executed or loaded, as suites and results name
/// it.
enum class ScenarioName {
  kSingleStream,
  kMultiStream,
  kServer,
  kInteractive,  ///< server with limits of tokens
  kOffline,
};
inline constexpr std::array kScenarioNames{ScenarioName::kSingleStream,
                                           ScenarioName::kMultiStream,
                                           ScenarioName::kServer,
                                           ScenarioName::kInteractive,
                                           ScenarioName::kOffline};
[[nodiscard]] std::string_view to_text(ScenarioName scenario);  ///< "single_stream", …
[[nodiscard]] std::optional<ScenarioName> parse_scenario_name(std::string_view text);

/// Returns the way to load that a scenario takes. Interactive is loaded as server is.
[[nodiscard]] LoadScenario load_scenario(ScenarioName scenario);
/// Returns the scenario of a load that no suite named.
[[nodiscard]] ScenarioName name_of(LoadScenario scenario);

}  // namespace plumb::loadgen
