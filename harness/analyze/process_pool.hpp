// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Sums up one time that several restarted processes measured: the median of their medians.
///
/// From three processes on the interval is that over processes alone (section_interval()), however
/// many samples each took: what one process repeats is not news. Of two it spans both intervals; of
/// one it is its own. The minimum is the least of all, p90 and mean are medians of the processes'.
/// Needs one process at least. Pure.
[[nodiscard]] SampleSummary pool_processes(std::span<const SampleSummary> processes);

/// Lists the rows that decide what one variant of a key takes in one cache mode: one a process, in
/// order of processes.
///
/// Confirming rows where there are any, since a full row won a race and looks better than it is;
/// else full rows. Of a process its newest. Disturbed and unstable rows only where there are no
/// others.
[[nodiscard]] std::vector<const StoredMeasurement*> deciding_rows(
    std::span<const StoredMeasurement* const> rows, const std::string& variant, CacheMode cache);

/// One mode and scenario of a model, as the restarted processes of a run executed it.
struct ReplicatedExecution {
  const Execution* told = nullptr;  ///< the newest that tells of its layers, else the newest
  /// One a process, in order, timed and quiet where there are such; never empty.
  std::vector<const Execution*> processes;
};

/// Groups a model's executions by mode and scenario, in order of first sight. Refers to them.
[[nodiscard]] std::vector<ReplicatedExecution> replicated_executions(
    std::span<const Execution> executions);

}  // namespace plumb
