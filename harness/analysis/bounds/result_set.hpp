// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
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

/// Time of one key in one cache mode, as analyses use it. It is over the processes that decide
/// (deciding_rows()), with the harness overhead subtracted.
struct KeyTime {
  measure::SampleSummary time;  ///< corrected
  measure::SampleSummary raw;
  std::string variant;
  results::RowId row = 0;  ///< of the middle process
  std::size_t processes = 1;
  Timestamp measured{};
  std::optional<Seconds> reorder;
};

/// Returns how grave an outcome is: zero for ok, the highest for a crash.
[[nodiscard]] int severity(results::Outcome::Kind kind);

/// Index of the rows of one run, for analysis. Pure: no store, no clock. For one thread at a time,
/// as it remembers answers.
class ResultSet {
 public:
  explicit ResultSet(std::vector<results::StoredMeasurement> rows,
                     std::optional<results::Calibration> calibration = {});

  /// Returns the time of the fastest variant, among the confirmed ones if any was confirmed in a
  /// fresh process. Falls back from kWeights to kNone where the layer has no weights. Absent:
  /// nothing was timed.
  [[nodiscard]] std::optional<KeyTime> best(const model::LayerKey& key,
                                            results::CacheMode cache) const;
  /// Returns the time of one variant by its full or confirming rows. Falls back from kWeights to
  /// kNone where the layer has no weights, then to any timed row of the variant, such as its race.
  [[nodiscard]] std::optional<KeyTime> of_variant(const model::LayerKey& key,
                                                  const std::string& variant,
                                                  results::CacheMode cache) const;
  /// Returns the time of the variant that the library picks by default.
  [[nodiscard]] std::optional<KeyTime> library_choice(const model::LayerKey& key,
                                                      results::CacheMode cache) const;
  /// Returns the time of every variant, each as of_variant(), fastest first. Reference
  /// implementations are included only where nothing else was timed.
  [[nodiscard]] std::vector<KeyTime> variant_times(const model::LayerKey& key,
                                                   results::CacheMode cache) const;
  /// Returns why there is no time: the worst outcome of the key's rows. Absent: there is a time
  /// that is not a race's, or there is no failed row.
  [[nodiscard]] std::optional<results::Outcome> failure(const model::LayerKey& key) const;
  [[nodiscard]] bool fell_back_to_reference(const model::LayerKey& key) const;
  /// Returns whether a layer was measured with cold weights.
  [[nodiscard]] bool has_cold_rows() const;
  [[nodiscard]] const std::optional<results::Calibration>& calibration() const {
    return calibration_;
  }
  /// Returns the calibration with its peaks raised to those that products of these rows reached
  /// (with_reached_peaks()).
  [[nodiscard]] const std::optional<results::Calibration>& reached_calibration() const {
    return reached_calibration_;
  }
  [[nodiscard]] std::span<const results::StoredMeasurement> rows() const { return rows_; }
  /// Gives the rows back. The set is of no use afterwards.
  [[nodiscard]] std::vector<results::StoredMeasurement> take_rows() && { return std::move(rows_); }
  /// Returns all rows of a key.
  [[nodiscard]] std::vector<const results::StoredMeasurement*> rows_of(
      const model::LayerKey& key) const;

 private:
  /// Rows of a key, and its hot times: analyses ask for these many times, but not for those of all
  /// keys.
  struct KeyRows {
    using Answer = std::optional<std::optional<KeyTime>>;  ///< absent: nobody asked yet
    std::vector<std::size_t> rows;
    mutable Answer best;
    mutable Answer library_choice;
  };

  [[nodiscard]] std::optional<KeyTime> find_best(const model::LayerKey& key,
                                                 results::CacheMode cache) const;
  [[nodiscard]] std::optional<KeyTime> find_library_choice(const model::LayerKey& key,
                                                           results::CacheMode cache) const;

  std::vector<results::StoredMeasurement> rows_;
  std::unordered_map<model::LayerKey, KeyRows> by_key_;
  std::optional<results::Calibration> calibration_;
  std::optional<results::Calibration> reached_calibration_;
};

/// Returns the hot time that a user gets of a key. It is that of the library's choice where it was
/// timed, else of the fastest variant.
[[nodiscard]] std::optional<KeyTime> served_time(const ResultSet& results,
                                                 const model::LayerKey& key);

}  // namespace plumb::analysis
