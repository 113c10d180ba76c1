// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/process_pool.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/measure/section_interval.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMinProcesses = 3;  // from which their scatter makes the interval

Seconds median_of(std::vector<Seconds> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

Seconds median_of(std::span<const SampleSummary> processes, Seconds SampleSummary::*field) {
  std::vector<Seconds> values;
  for (const SampleSummary& process : processes) {
    values.push_back(process.*field);
  }
  return median_of(std::move(values));
}

/// Keeps the rows for which a predicate holds, or all if it holds for none.
template <typename Row>
void prefer(std::vector<const Row*>& rows, const std::function<bool(const Row&)>& good) {
  if (std::any_of(rows.begin(), rows.end(), [&](const Row* row) { return good(*row); })) {
    std::erase_if(rows, [&](const Row* row) { return !good(*row); });
  }
}

/// Keeps the newest row of each process, in order of processes. `measured` returns a row's
/// measurement.
template <typename Row>
void keep_newest(std::vector<const Row*>& rows,
                 const std::function<const Measurement&(const Row&)>& measured) {
  std::map<std::int64_t, const Row*> newest;
  for (const Row* row : rows) {
    const Row*& held = newest[measured(*row).process];
    if (held == nullptr || measured(*held).started <= measured(*row).started) {
      held = row;
    }
  }
  rows.clear();
  for (const auto& [process, row] : newest) {
    rows.push_back(row);
  }
}

}  // namespace

SampleSummary pool_processes(std::span<const SampleSummary> processes) {
  PLUMB_CHECK(!processes.empty());
  if (processes.size() == 1) {
    return processes.front();
  }
  SampleSummary pooled = processes.front();
  pooled.median = median_of(processes, &SampleSummary::median);
  pooled.p90 = median_of(processes, &SampleSummary::p90);
  pooled.mean = median_of(processes, &SampleSummary::mean);
  std::vector<Seconds> medians{processes.front().median};
  for (const SampleSummary& process : processes.subspan(1)) {
    medians.push_back(process.median);
    pooled.n += process.n;
    pooled.min = std::min(pooled.min, process.min);
    pooled.min_has_company = pooled.min_has_company || process.min_has_company;
    pooled.interval = {std::min(pooled.interval.low, process.interval.low),
                       std::max(pooled.interval.high, process.interval.high)};
  }
  if (processes.size() >= kMinProcesses) {
    pooled.interval = section_interval(pooled.median, medians);
  }
  return pooled;
}

std::vector<const StoredMeasurement*> deciding_rows(std::span<const StoredMeasurement* const> rows,
                                                    const std::string& variant,
                                                    CacheMode cache) {
  std::vector<const StoredMeasurement*> chosen;
  for (const StoredMeasurement* row : rows) {
    const Measurement& measurement = row->measurement;
    if (measurement.variant == variant && measurement.cache == cache &&
        measurement.purpose != Purpose::kRace && measurement.outcome.timed() &&
        measurement.summary.n > 0) {
      chosen.push_back(row);
    }
  }
  using Row = StoredMeasurement;
  prefer<Row>(chosen, [](const Row& row) { return row.measurement.purpose == Purpose::kConfirm; });
  prefer<Row>(chosen, [](const Row& row) { return !row.measurement.disturbance.disturbed; });
  prefer<Row>(chosen, [](const Row& row) { return row.measurement.outcome.ok(); });
  keep_newest<Row>(chosen, [](const Row& row) -> const Measurement& { return row.measurement; });
  return chosen;
}

std::vector<ReplicatedExecution> replicated_executions(std::span<const Execution> executions) {
  std::vector<ReplicatedExecution> groups;
  for (const Execution& execution : executions) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.told->mode == execution.mode && group.told->scenario == execution.scenario;
    });
    ReplicatedExecution& group = same == groups.end() ? groups.emplace_back() : *same;
    group.processes.push_back(&execution);
    const auto worth = [](const Execution& each) {
      return std::pair(!each.layers.empty(), each.row.started);
    };
    if (group.told == nullptr || worth(*group.told) <= worth(execution)) {
      group.told = &execution;
    }
  }
  for (ReplicatedExecution& group : groups) {
    std::vector<const Execution*>& processes = group.processes;
    prefer<Execution>(processes, [](const Execution& each) { return each.row.outcome.timed(); });
    prefer<Execution>(processes,
                      [](const Execution& each) { return !each.row.disturbance.disturbed; });
    keep_newest<Execution>(processes,
                           [](const Execution& each) -> const Measurement& { return each.row; });
  }
  return groups;
}

}  // namespace plumb
