// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/analysis/whatif/what_if_result.hpp"

namespace plumb::analysis {

/// Prices a model of f32 by its layers as written, fastest variants, hot: what another type is set
/// against. Absent: `result` says why.
[[nodiscard]] std::optional<PricedPartition> price_in_f32(const WhatIfInput& input,
                                                          WhatIfResult& result);

}  // namespace plumb::analysis
