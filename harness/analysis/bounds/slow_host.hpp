// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Executions of a run, by subject_of() the model.
using ModelExecutions = std::map<std::string, std::vector<results::Execution>>;

/// Returns the fastest pace of the host in a run's rows and executions, in seconds. Absent: none
/// was measured.
[[nodiscard]] std::optional<double> fastest_pace(std::span<const results::StoredMeasurement> rows,
                                                 const ModelExecutions& executions);

/// Marks rows and executions as disturbed whose pace is slower than kSlowPace times `fastest`, in
/// seconds. A process that a neighbour slows down from its start cannot notice it; its run can.
void mark_slow_host(double fastest,
                    std::span<results::StoredMeasurement> rows,
                    ModelExecutions& executions);

}  // namespace plumb::analysis
