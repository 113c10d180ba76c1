// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/slow_host.hpp"

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
  FastestPace fastest;
  for (const StoredMeasurement& row : rows) {
    fastest.take_in(row.measurement);
  }
  for (const auto& [subject, of_model] : executions) {
    for (const Execution& execution : of_model) {
      fastest.take_in(execution.row);
    }
  }
  return fastest.seconds() ? std::optional(fastest.seconds()->count()) : std::nullopt;
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
