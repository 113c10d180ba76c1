// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/measured_time.hpp"
#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {

/// Prices of one model in modes, from hot times of its layers. It keeps the steps of a type and a
/// partition, so that many modes cost little. Refers to the input.
class ModePricer {
 public:
  explicit ModePricer(const WhatIfInput& input) : input_(input) {}

  /// Returns the sum over the steps of a mode: each by its fastest variant, or without
  /// `best_variant` by the library's own choice. Absent: a step has no such time, or the mode
  /// changes what hot times do not hold (layouts, launches, branches).
  [[nodiscard]] std::optional<MeasuredTime> price(const results::ExecutionMode& mode);

 private:
  const std::vector<PartitionStep>& steps_of(const results::ExecutionMode& mode);

  const WhatIfInput& input_;
  std::map<std::pair<std::string, bool>, std::vector<PartitionStep>> steps_;
};

}  // namespace plumb::analysis
