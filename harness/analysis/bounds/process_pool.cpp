// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/process_pool.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/measure/section_interval.hpp"

namespace plumb::analysis {
namespace {

constexpr std::size_t kMinProcesses = 3;  // from which their scatter makes the interval

Seconds compute_median(std::vector<Seconds> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

Seconds compute_median(std::span<const measure::SampleSummary> processes,
                       Seconds measure::SampleSummary::*field) {
  std::vector<Seconds> values;
  for (const measure::SampleSummary& process : processes) {
    values.push_back(process.*field);
  }
  return compute_median(std::move(values));
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
                 const std::function<const results::Measurement&(const Row&)>& measured) {
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

measure::SampleSummary pool_processes(std::span<const measure::SampleSummary> processes) {
  PLUMB_CHECK(!processes.empty());
  if (processes.size() == 1) {
    return processes.front();
  }
  measure::SampleSummary pooled = processes.front();
  pooled.median = compute_median(processes, &measure::SampleSummary::median);
  pooled.p90 = compute_median(processes, &measure::SampleSummary::p90);
  pooled.mean = compute_median(processes, &measure::SampleSummary::mean);
  std::vector<Seconds> medians{processes.front().median};
  for (const measure::SampleSummary& process : processes.subspan(1)) {
    medians.push_back(process.median);
    pooled.n += process.n;
    pooled.min = std::min(pooled.min, process.min);
    pooled.min_has_company = pooled.min_has_company || process.min_has_company;
    pooled.interval = {std::min(pooled.interval.low, process.interval.low),
                       std::max(pooled.interval.high, process.interval.high)};
  }
  if (processes.size() >= kMinProcesses) {
    pooled.interval = measure::section_interval(pooled.median, medians);
  }
  return pooled;
}

std::vector<const results::StoredMeasurement*> deciding_rows(
    std::span<const results::StoredMeasurement* const> rows,
    const std::string& variant,
    results::CacheMode cache) {
  std::vector<const results::StoredMeasurement*> chosen;
  for (const results::StoredMeasurement* row : rows) {
    const results::Measurement& measurement = row->measurement;
    if (measurement.variant == variant && measurement.cache == cache &&
        measurement.purpose != results::Purpose::kRace && measurement.outcome.timed() &&
        measurement.summary.n > 0) {
      chosen.push_back(row);
    }
  }
  using Row = results::StoredMeasurement;
  prefer<Row>(chosen,
              [](const Row& row) { return row.measurement.purpose == results::Purpose::kConfirm; });
  prefer<Row>(chosen, [](const Row& row) { return !row.measurement.disturbance.disturbed; });
  prefer<Row>(chosen, [](const Row& row) { return row.measurement.outcome.ok(); });
  keep_newest<Row>(chosen,
                   [](const Row& row) -> const results::Measurement& { return row.measurement; });
  return chosen;
}

std::vector<ReplicatedExecution> replicated_executions(
    std::span<const results::Execution> executions) {
  std::vector<ReplicatedExecution> groups;
  for (const results::Execution& execution : executions) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.told->mode == execution.mode && group.told->scenario == execution.scenario &&
             group.told->turn == execution.turn;
    });
    ReplicatedExecution& group = same == groups.end() ? groups.emplace_back() : *same;
    group.processes.push_back(&execution);
    const auto worth = [](const results::Execution& each) {
      return std::pair(!each.layers.empty(), each.row.started);
    };
    if (group.told == nullptr || worth(*group.told) <= worth(execution)) {
      group.told = &execution;
    }
  }
  for (ReplicatedExecution& group : groups) {
    std::vector<const results::Execution*>& processes = group.processes;
    prefer<results::Execution>(
        processes, [](const results::Execution& each) { return each.row.outcome.timed(); });
    prefer<results::Execution>(
        processes, [](const results::Execution& each) { return !each.row.disturbance.disturbed; });
    keep_newest<results::Execution>(
        processes,
        [](const results::Execution& each) -> const results::Measurement& { return each.row; });
  }
  return groups;
}

}  // namespace plumb::analysis
