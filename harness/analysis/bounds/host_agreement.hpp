// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

struct ModelBounds;

/// Controls of the hosts of one run, by name. Absent: that host measured none.
using HostControls = std::map<std::string, std::optional<results::Controls>>;

/// Largest difference between the products of two hosts that count as equally fast. Copies may
/// differ by twice that, as in rounds.
inline constexpr double kHostLimit = 0.02;

/// Returns why times of these hosts cannot be added up. Empty: there is one host, or the controls
/// of all agree. Pure.
[[nodiscard]] std::string host_disagreement(const std::set<std::string>& hosts,
                                            const HostControls& controls);

/// Marks the bounds of a model incomplete, and says why, if its times come from hosts that
/// disagree. `hosts` are those of its rows and executions.
void require_like_hosts(const std::set<std::string>& hosts,
                        const HostControls& controls,
                        ModelBounds& model);

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
