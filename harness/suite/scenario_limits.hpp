// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "harness/loadgen/scenario_name.hpp"

namespace plumb::suite {

/// Limits that a scenario must keep for its result to count. An absent limit does not limit.
struct ScenarioLimits {
  std::optional<double> percentile;    ///< of the latencies, in %: 99
  std::optional<Seconds> latency;      ///< of a query
  std::optional<Seconds> first_token;  ///< of a query, until its first token
  std::optional<Seconds> per_token;    ///< of every later token, on average over a query

  auto operator<=>(const ScenarioLimits&) const = default;
};

/// Settings for loading a model in a scenario. An absent setting takes MLPerf's value.
struct ScenarioSettings {
  std::optional<Seconds> duration;            ///< fixed: ends the run whatever the count
  std::optional<Seconds> minimum_duration;    ///< 600 s; not beside `duration`
  std::optional<double> target_rate;          ///< queries a second; server: searched for
  std::optional<std::int64_t> maximum_batch;  ///< samples; 1, of multi_stream 8
  std::optional<Seconds> batch_timeout;       ///< how long a sample waits for company: not at all
  std::optional<std::int64_t> lanes;          ///< batches executed at a time: 1

  auto operator<=>(const ScenarioSettings&) const = default;
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
