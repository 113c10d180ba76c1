// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Combines the times of several restarted processes: the median of their medians.
///
/// From three processes on, the interval is that over processes alone (section_interval()), however
/// many samples each took. Repetitions within one process are not new evidence. With two processes
/// it spans both intervals; with one it is that process's own. The minimum is the smallest of all.
/// p90 and mean are medians over the processes. Needs at least one process. Pure.
[[nodiscard]] measure::SampleSummary pool_processes(
    std::span<const measure::SampleSummary> processes);

/// Lists the rows that decide the time of one variant of a key in one cache mode. There is one row
/// per process, its newest, in order of processes.
///
/// Only confirming rows count where there are any, since a full row won a race and looks better
/// than it is; else full rows. Disturbed and unstable rows count only where there are no others.
[[nodiscard]] std::vector<const results::StoredMeasurement*> deciding_rows(
    std::span<const results::StoredMeasurement* const> rows,
    const std::string& variant,
    results::CacheMode cache);

/// Executions of one mode, scenario and turn of a model by the restarted processes of a run.
struct ReplicatedExecution {
  const results::Execution* told = nullptr;  ///< the newest that lists its layers, else the newest
  /// One execution per process, in order; only timed and quiet ones where there are any. Never
  /// empty.
  std::vector<const results::Execution*> processes;
};

/// Groups a model's executions by mode, scenario and turn, in order of first occurrence. The result
/// refers to them.
[[nodiscard]] std::vector<ReplicatedExecution> replicated_executions(
    std::span<const results::Execution> executions);

}  // namespace plumb::analysis
