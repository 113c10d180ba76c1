// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb {

/// Time of one key in one cache mode, as analyses use it. It is over the processes that decide
/// (process_pool.hpp), with the harness overhead subtracted.
struct KeyTime {
  SampleSummary time;  ///< corrected
  SampleSummary raw;
  std::string variant;
  RowId row = 0;  ///< of the middle process
  std::size_t processes = 1;
  Timestamp measured{};
  std::optional<Seconds> reorder;
};

/// Returns how grave an outcome is: zero for ok, the highest for a crash.
[[nodiscard]] int severity(Outcome::Kind kind);

/// Index of the rows of one run, for analysis. Pure: no store, no clock.
class ResultSet {
 public:
  explicit ResultSet(std::vector<StoredMeasurement> rows,
                     std::optional<Calibration> calibration = {});

  /// Returns the time of the fastest variant, among the confirmed ones if any was confirmed in a
  /// fresh process. Falls back from kWeights to kNone where the layer has no weights. Absent:
  /// nothing was timed.
  [[nodiscard]] std::optional<KeyTime> best(const LayerKey& key, CacheMode cache) const;
  /// Returns the time of one variant by its full or confirming rows. Falls back from kWeights to
  /// kNone where the layer has no weights, then to any timed row of the variant, such as its race.
  [[nodiscard]] std::optional<KeyTime> of_variant(const LayerKey& key,
                                                  const std::string& variant,
                                                  CacheMode cache) const;
  /// Returns the time of the variant that the library picks by default.
  [[nodiscard]] std::optional<KeyTime> library_choice(const LayerKey& key, CacheMode cache) const;
  /// Returns the time of every variant, each as of_variant(), fastest first. Reference
  /// implementations are included only where nothing else was timed.
  [[nodiscard]] std::vector<KeyTime> variant_times(const LayerKey& key, CacheMode cache) const;
  /// Returns why there is no time: the worst outcome of the key's rows. Absent: there is a time
  /// that is not a race's, or there is no failed row.
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
