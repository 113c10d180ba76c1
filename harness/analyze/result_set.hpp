// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb {

/// The time of one key in one cache mode, as analyses use it: floor-corrected, over the processes
/// that decide (process_pool.hpp).
struct KeyTime {
  SampleSummary time;  ///< corrected
  SampleSummary raw;
  std::string variant;
  RowId row = 0;  ///< of the middle process
  std::size_t processes = 1;
  Timestamp measured{};
  std::optional<Seconds> reorder;
};

/// Indexes the rows of one run for analysis. Pure: no store, no clock.
class ResultSet {
 public:
  explicit ResultSet(std::vector<StoredMeasurement> rows,
                     std::optional<Calibration> calibration = {});

  /// Returns the fastest variant, as confirmed in a fresh process where it was; else the fastest
  /// full row. Falls back from kWeights to kNone where the layer has no weights. Absent: nothing
  /// timed.
  [[nodiscard]] std::optional<KeyTime> best(const LayerKey& key, CacheMode cache) const;
  /// Returns the time of one variant: its fastest full or confirmed row, else its race. Falls back
  /// from kWeights to kNone where the layer has no weights.
  [[nodiscard]] std::optional<KeyTime> of_variant(const LayerKey& key,
                                                  const std::string& variant,
                                                  CacheMode cache) const;
  /// Returns what the library picks when asked for nothing.
  [[nodiscard]] std::optional<KeyTime> library_choice(const LayerKey& key, CacheMode cache) const;
  /// Returns the time of every variant, fastest first: of each its fastest full or confirmed row,
  /// else its race. Reference implementations only where nothing else was timed.
  [[nodiscard]] std::vector<KeyTime> variant_times(const LayerKey& key, CacheMode cache) const;
  /// Returns why there is no time: the worst outcome seen. Absent if there is a time, or no row at
  /// all.
  [[nodiscard]] std::optional<Outcome> failure(const LayerKey& key) const;
  [[nodiscard]] bool fell_back_to_reference(const LayerKey& key) const;
  [[nodiscard]] const std::optional<Calibration>& calibration() const { return calibration_; }
  [[nodiscard]] std::span<const StoredMeasurement> rows() const { return rows_; }
  /// Returns all rows of a key.
  [[nodiscard]] std::vector<const StoredMeasurement*> rows_of(const LayerKey& key) const;

 private:
  std::vector<StoredMeasurement> rows_;
  std::unordered_map<LayerKey, std::vector<std::size_t>> by_key_;
  std::optional<Calibration> calibration_;
};

}  // namespace plumb
