// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/slow_host.hpp"

#include <algorithm>

#include "harness/results/host_pace.hpp"

namespace plumb {
namespace {

const Reading* pace_of(const Measurement& row) {
  const auto found = row.readings.find(kHostPace);
  return found == row.readings.end() ? nullptr : &found->second;
}

void mark(double fastest, Measurement& row) {
  const Reading* const pace = pace_of(row);
  row.disturbance.disturbed =
      row.disturbance.disturbed || (pace != nullptr && pace->median > kSlowPace * fastest);
}

}  // namespace

std::optional<double> fastest_pace(std::span<const StoredMeasurement> rows,
                                   const ModelExecutions& executions) {
  std::optional<double> fastest;
  const auto look_at = [&](const Measurement& row) {
    if (const Reading* const pace = pace_of(row); pace != nullptr && pace->low > 0.0) {
      fastest = std::min(fastest.value_or(pace->low), pace->low);
    }
  };
  for (const StoredMeasurement& row : rows) {
    look_at(row.measurement);
  }
  for (const auto& [subject, of_model] : executions) {
    for (const Execution& execution : of_model) {
      look_at(execution.row);
    }
  }
  return fastest;
}

void mark_slow_host(double fastest,
                    std::span<StoredMeasurement> rows,
                    ModelExecutions& executions) {
  for (StoredMeasurement& row : rows) {
    mark(fastest, row.measurement);
  }
  for (auto& [subject, of_model] : executions) {
    for (Execution& execution : of_model) {
      mark(fastest, execution.row);
    }
  }
}

}  // namespace plumb
