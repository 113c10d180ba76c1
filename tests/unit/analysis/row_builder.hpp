// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Makes rows by hand: times in microseconds, interval ±1% unless said otherwise.
class RowBuilder {
 public:
  /// Adds a full row of a variant, hot; returns it for changes.
  results::Measurement& add(const model::LayerKey& key,
                            const std::string& variant,
                            double microseconds) {
    results::StoredMeasurement row;
    row.row = static_cast<results::RowId>(rows_.size()) + 1;
    row.run = "01RUN";
    results::Measurement& measurement = row.measurement;
    measurement.key = key;
    measurement.variant = variant;
    measurement.started = Timestamp(std::chrono::seconds(1'700'000'000 + row.row));
    rows_.push_back(std::move(row));
    set_time(rows_.back().measurement, microseconds, 0.01);
    return rows_.back().measurement;
  }
  results::Measurement& choice(const model::LayerKey& key,
                               const std::string& variant,
                               double microseconds) {
    results::Measurement& measurement = add(key, variant, microseconds);
    measurement.library_choice = true;
    return measurement;
  }
  results::Measurement& fail(const model::LayerKey& key,
                             results::Outcome::Kind kind,
                             const std::string& reason) {
    results::Measurement& measurement = add(key, "", 0.0);
    measurement.summary = {};
    measurement.outcome = {kind, reason};
    return measurement;
  }
  static void set_time(results::Measurement& measurement, double microseconds, double relative) {
    const Seconds time(microseconds * 1e-6);
    measurement.summary = {
        30, time, {time * (1 - relative), time * (1 + relative)}, time, time, time, true};
  }
  [[nodiscard]] std::vector<results::StoredMeasurement> rows() const { return rows_; }

 private:
  std::vector<results::StoredMeasurement> rows_;
};

}  // namespace plumb::analysis
