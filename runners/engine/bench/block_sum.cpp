// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/block_sum.hpp"

#include <algorithm>
#include <optional>

#include "harness/results/attributes.hpp"

namespace plumb::engine {

void append_block(const results::Measurement& block, results::Measurement& row) {
  row.samples.insert(row.samples.end(), block.samples.begin(), block.samples.end());
  row.repetitions = std::max(row.repetitions, block.repetitions);
  row.floor = std::max(row.floor, block.floor);
  row.attempt = std::max(row.attempt, block.attempt);
  row.disturbance.involuntary_switches += block.disturbance.involuntary_switches;
  row.disturbance.disturbed = row.disturbance.disturbed || block.disturbance.disturbed;
  row.disturbance.load = block.disturbance.load;
  results::add_readings(row.readings, block.readings);
  const auto highest = [](std::optional<double>& known, const std::optional<double>& next) {
    known = next ? std::max(known.value_or(*next), *next) : known;
  };
  highest(row.disturbance.steal_ratio, block.disturbance.steal_ratio);
  highest(row.disturbance.pressure_ratio, block.disturbance.pressure_ratio);
}

void add_block(const results::Measurement& block, results::Measurement& row) {
  if (!row.samples.empty() && block.disturbance.disturbed && !row.disturbance.disturbed) {
    return;
  }
  if (!row.samples.empty() && !block.disturbance.disturbed && row.disturbance.disturbed) {
    row.samples.clear();
    row.readings.clear();
    row.disturbance = {};
  }
  append_block(block, row);
}

}  // namespace plumb::engine
