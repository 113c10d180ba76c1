// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/slow_host.hpp"

#include "harness/results/host_pace.hpp"

namespace plumb::analysis {
namespace {

const results::Reading* find_pace(const results::Measurement& row) {
  const auto found = row.readings.find(results::kHostPace);
  return found == row.readings.end() ? nullptr : &found->second;
}

void mark(double fastest, results::Measurement& row) {
  const results::Reading* const pace = find_pace(row);
  row.disturbance.disturbed =
      row.disturbance.disturbed || (pace != nullptr && pace->median > results::kSlowPace * fastest);
}

}  // namespace

std::optional<double> fastest_pace(std::span<const results::StoredMeasurement> rows,
                                   const ModelExecutions& executions) {
  results::FastestPace fastest;
  for (const results::StoredMeasurement& row : rows) {
    fastest.take_in(row.measurement);
  }
  for (const auto& [subject, of_model] : executions) {
    for (const results::Execution& execution : of_model) {
      fastest.take_in(execution.row);
    }
  }
  return fastest.seconds() ? std::optional(fastest.seconds()->count()) : std::nullopt;
}

void mark_slow_host(double fastest,
                    std::span<results::StoredMeasurement> rows,
                    ModelExecutions& executions) {
  for (results::StoredMeasurement& row : rows) {
    mark(fastest, row.measurement);
  }
  for (auto& [subject, of_model] : executions) {
    for (results::Execution& execution : of_model) {
      mark(fastest, execution.row);
    }
  }
}

}  // namespace plumb::analysis
