// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/units.hpp"

namespace plumb::suite {

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

}  // namespace plumb::suite
