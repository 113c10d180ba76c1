// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb {

/// Makes rows by hand: times in microseconds, interval ±1% unless said otherwise.
class RowBuilder {
 public:
  /// Adds a full row of a variant, hot; returns it for changes.
  Measurement& add(const LayerKey& key, const std::string& variant, double microseconds) {
    StoredMeasurement row;
    row.row = static_cast<RowId>(rows_.size()) + 1;
    row.run = "01RUN";
    Measurement& measurement = row.measurement;
    measurement.key = key;
    measurement.variant = variant;
    measurement.started = Timestamp(std::chrono::seconds(1'700'000'000 + row.row));
    rows_.push_back(std::move(row));
    set_time(rows_.back().measurement, microseconds, 0.01);
    return rows_.back().measurement;
  }
  Measurement& choice(const LayerKey& key, const std::string& variant, double microseconds) {
    Measurement& measurement = add(key, variant, microseconds);
    measurement.library_choice = true;
    return measurement;
  }
  Measurement& fail(const LayerKey& key, Outcome::Kind kind, const std::string& reason) {
    Measurement& measurement = add(key, "", 0.0);
    measurement.summary = {};
    measurement.outcome = {kind, reason};
    return measurement;
  }
  static void set_time(Measurement& measurement, double microseconds, double relative) {
    const Seconds time(microseconds * 1e-6);
    measurement.summary = {
        30, time, {time * (1 - relative), time * (1 + relative)}, time, time, time, true};
  }
  [[nodiscard]] std::vector<StoredMeasurement> rows() const { return rows_; }

 private:
  std::vector<StoredMeasurement> rows_;
};

}  // namespace plumb
