// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "harness/loadgen/scenario_name.hpp"
#include "harness/suite/scenario_settings.hpp"

namespace plumb::suite {

/// Limits that a scenario must keep for its result to count. An absent limit does not limit.
struct ScenarioLimits {
  std::optional<double> percentile;    ///< of the latencies, in %: 99
  std::optional<Seconds> latency;      ///< of a query
  std::optional<Seconds> first_token;  ///< of a query, until its first token
  std::optional<Seconds> per_token;    ///< of every later token, on average over a query

  auto operator<=>(const ScenarioLimits&) const = default;
};

/// One way to load a model end to end, with its limits and settings.
struct Scenario {
  loadgen::ScenarioName name = loadgen::ScenarioName::kSingleStream;
  ScenarioLimits limits;
  ScenarioSettings settings{};

  auto operator<=>(const Scenario&) const = default;
};

/// Returns the percentile that MLPerf Inference reports or limits. It is 90 for single_stream, 99
/// for multi_stream, server and interactive, and absent for offline.
[[nodiscard]] std::optional<double> standard_percentile(loadgen::ScenarioName scenario);

/// Writes a scenario in a few words: "server (99 %: latency 15 ms)".
[[nodiscard]] std::string to_text(const Scenario& scenario);

}  // namespace plumb::suite
