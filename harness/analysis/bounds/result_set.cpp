// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/result_set.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/analysis/bounds/hardware_bound.hpp"
#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"

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

namespace {

/// Returns whether a key has a constant operand, which its text shows by a `c` behind the extents.
bool has_weights(const model::LayerKey& key) {
  const std::string_view text = key.text;
  const std::size_t begin = text.find(";in=");
  const std::size_t end = text.find(";out=");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return false;
  }
  return text.substr(begin, end - begin).find("]c") != std::string_view::npos;
}

/// Combines the rows of one variant, one per deciding process. Needs at least one row.
KeyTime combine_rows(const std::vector<const results::StoredMeasurement*>& rows) {
  std::vector<measure::SampleSummary> corrected;
  std::vector<measure::SampleSummary> raw;
  std::vector<const results::StoredMeasurement*> order(rows);
  for (const results::StoredMeasurement* row : rows) {
    corrected.push_back(row->measurement.corrected());
    raw.push_back(row->measurement.summary);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* one, const auto* other) {
    return one->measurement.summary.median < other->measurement.summary.median;
  });
  const results::StoredMeasurement& middle = *order[(order.size() - 1) / 2];
  KeyTime time;
  time.time = pool_processes(corrected);
  time.raw = pool_processes(raw);
  time.variant = middle.measurement.variant;
  time.row = middle.row;
  time.processes = rows.size();
  time.measured = middle.measurement.started;
  time.reorder = middle.measurement.reorder;
  return time;
}

/// Returns the fastest variant among the rows that `wanted` accepts. A reference implementation
/// counts only where nothing else was timed. An unconfirmed winner counts only where no variant was
/// confirmed.
std::optional<KeyTime> fastest(const std::vector<const results::StoredMeasurement*>& rows,
                               results::CacheMode cache,
                               const std::function<bool(const results::Measurement&)>& wanted) {
  struct Variant {
    std::vector<const results::StoredMeasurement*> rows;
    bool wanted = false;
  };
  std::map<std::string_view, Variant> variants;
  for (const results::StoredMeasurement* row : rows) {
    Variant& variant = variants[row->measurement.variant];
    variant.rows.push_back(row);
    variant.wanted = variant.wanted || wanted(row->measurement);
  }
  std::optional<KeyTime> best;
  std::tuple<bool, bool, Seconds> best_order;
  for (const auto& [name, variant] : variants) {
    if (!variant.wanted) {
      continue;
    }
    const std::vector<const results::StoredMeasurement*> deciding =
        deciding_rows(variant.rows, variant.rows.front()->measurement.variant, cache);
    if (deciding.empty()) {
      continue;
    }
    KeyTime time = combine_rows(deciding);
    const results::Measurement& measurement = deciding.front()->measurement;
    const std::tuple order(measurement.reference_implementation,
                           measurement.purpose != results::Purpose::kConfirm,
                           time.time.median);
    if (!best || order < best_order) {
      best = std::move(time);
      best_order = order;
    }
  }
  return best;
}

}  // namespace

int severity(results::Outcome::Kind kind) {
  switch (kind) {
    case results::Outcome::Kind::kCrashed:
      return 7;
    case results::Outcome::Kind::kWrongResult:
      return 6;
    case results::Outcome::Kind::kTimedOut:
      return 5;
    case results::Outcome::Kind::kOutOfMemory:
      return 4;
    case results::Outcome::Kind::kUnsupported:
      return 3;
    case results::Outcome::Kind::kSkipped:
      return 2;
    case results::Outcome::Kind::kUnstable:
      return 1;
    case results::Outcome::Kind::kOk:
      return 0;
  }
  return 0;
}

ResultSet::ResultSet(std::vector<results::StoredMeasurement> rows,
                     std::optional<results::Calibration> calibration)
    : rows_(std::move(rows)), calibration_(calibration) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    by_key_[rows_[i].measurement.key].rows.push_back(i);
  }
  if (calibration_) {
    reached_calibration_ = with_reached_peaks(*calibration_, rows_);
  }
}

std::optional<KeyTime> ResultSet::best(const model::LayerKey& key, results::CacheMode cache) const {
  if (cache == results::CacheMode::kNone) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return std::nullopt;
    }
    KeyRows::Answer& answer = found->second.best;
    return answer ? *answer : answer.emplace(find_best(key, cache));
  }
  return find_best(key, cache);
}

std::optional<KeyTime> ResultSet::find_best(const model::LayerKey& key,
                                            results::CacheMode cache) const {
  const auto any = [](const results::Measurement&) { return true; };
  std::optional<KeyTime> time = fastest(rows_of(key), cache, any);
  if (!time && cache == results::CacheMode::kWeights && !has_weights(key)) {
    time = fastest(rows_of(key), results::CacheMode::kNone, any);
  }
  return time;
}

std::optional<KeyTime> ResultSet::of_variant(const model::LayerKey& key,
                                             const std::string& variant,
                                             results::CacheMode cache) const {
  const auto named = [&](const results::Measurement& measurement) {
    return measurement.variant == variant;
  };
  std::optional<KeyTime> time = fastest(rows_of(key), cache, named);
  if (!time && cache == results::CacheMode::kWeights && !has_weights(key)) {
    time = fastest(rows_of(key), results::CacheMode::kNone, named);
  }
  for (const results::StoredMeasurement* row : rows_of(key)) {
    if (!time && named(row->measurement) && row->measurement.outcome.timed() &&
        row->measurement.summary.n > 0) {
      time = combine_rows({row});
    }
  }
  return time;
}

std::optional<KeyTime> ResultSet::library_choice(const model::LayerKey& key,
                                                 results::CacheMode cache) const {
  if (cache == results::CacheMode::kNone) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return std::nullopt;
    }
    KeyRows::Answer& answer = found->second.library_choice;
    return answer ? *answer : answer.emplace(find_library_choice(key, cache));
  }
  return find_library_choice(key, cache);
}

std::optional<KeyTime> ResultSet::find_library_choice(const model::LayerKey& key,
                                                      results::CacheMode cache) const {
  const auto chosen = [](const results::Measurement& measurement) {
    return measurement.library_choice;
  };
  std::optional<KeyTime> time = fastest(rows_of(key), cache, chosen);
  if (!time && cache == results::CacheMode::kWeights && !has_weights(key)) {
    time = fastest(rows_of(key), results::CacheMode::kNone, chosen);
  }
  return time;
}

std::vector<KeyTime> ResultSet::variant_times(const model::LayerKey& key,
                                              results::CacheMode cache) const {
  const bool references = fell_back_to_reference(key);
  std::set<std::string_view> variants;
  for (const results::StoredMeasurement* row : rows_of(key)) {
    const results::Measurement& measurement = row->measurement;
    if (measurement.cache == cache && measurement.outcome.timed() && measurement.summary.n > 0 &&
        (references || !measurement.reference_implementation)) {
      variants.insert(measurement.variant);
    }
  }
  std::vector<KeyTime> times;
  for (const std::string_view variant : variants) {
    if (std::optional<KeyTime> time = of_variant(key, std::string(variant), cache)) {
      times.push_back(std::move(*time));
    }
  }
  std::stable_sort(times.begin(), times.end(), [](const KeyTime& a, const KeyTime& b) {
    return a.time.median < b.time.median;
  });
  return times;
}

std::optional<results::Outcome> ResultSet::failure(const model::LayerKey& key) const {
  std::optional<results::Outcome> worst;
  for (const results::StoredMeasurement* row : rows_of(key)) {
    const results::Measurement& measurement = row->measurement;
    if (measurement.outcome.timed()) {
      if (measurement.purpose == results::Purpose::kRace) {
        continue;
      }
      return std::nullopt;
    }
    if (!worst || severity(worst->kind) < severity(measurement.outcome.kind)) {
      worst = measurement.outcome;
    }
  }
  return worst;
}

bool ResultSet::has_cold_rows() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const results::StoredMeasurement& row) {
    return row.measurement.cache == results::CacheMode::kWeights;
  });
}

bool ResultSet::fell_back_to_reference(const model::LayerKey& key) const {
  const std::vector<const results::StoredMeasurement*> rows = rows_of(key);
  bool reference = false;
  for (const results::StoredMeasurement* row : rows) {
    if (row->measurement.outcome.timed()) {
      if (!row->measurement.reference_implementation) {
        return false;
      }
      reference = true;
    }
  }
  return reference;
}

std::vector<const results::StoredMeasurement*> ResultSet::rows_of(
    const model::LayerKey& key) const {
  std::vector<const results::StoredMeasurement*> result;
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    for (const std::size_t index : found->second.rows) {
      result.push_back(&rows_[index]);
    }
  }
  return result;
}

std::optional<KeyTime> served_time(const ResultSet& results, const model::LayerKey& key) {
  auto time = results.library_choice(key, results::CacheMode::kNone);
  return time ? time : results.best(key, results::CacheMode::kNone);
}

}  // namespace plumb::analysis
