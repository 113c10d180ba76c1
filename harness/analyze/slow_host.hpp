// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// What a run measured, by subject_of() the model.
using ModelExecutions = std::map<std::string, std::vector<Execution>>;

/// Returns the fastest pace of the host that a run's rows and executions saw, in seconds; absent
/// where none was measured.
[[nodiscard]] std::optional<double> fastest_pace(std::span<const StoredMeasurement> rows,
                                                 const ModelExecutions& executions);

/// Marks as disturbed what was measured while the host was slowed down, against the `fastest` pace
/// (kSlowPace). A process that a neighbour slowed down from its start cannot tell; its run can.
void mark_slow_host(double fastest, std::span<StoredMeasurement> rows, ModelExecutions& executions);

}  // namespace plumb
