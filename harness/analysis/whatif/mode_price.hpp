// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {

/// Prices a model in a mode from hot times of its layers: the sum over the steps of the mode, each
/// by its fastest variant, or without `best_variant` by the library's own choice.
///
/// Absent: a step has no such time, or the mode changes what hot times do not hold (layouts,
/// launches, branches).
[[nodiscard]] std::optional<measure::MeasuredTime> price_mode(const WhatIfInput& input,
                                                              const results::ExecutionMode& mode);

}  // namespace plumb::analysis
