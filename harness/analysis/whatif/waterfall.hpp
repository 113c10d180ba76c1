// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"

namespace plumb::analysis {

/// Level between what a model takes now and its bound.
struct WaterfallLevel {
  std::string name;  ///< "now", "library", "hardware"…
  std::string what;  ///< what lies between the level above and this one, in words; of the first:
                     ///< what it is
  measure::MeasuredTime time;
};

/// Returns the levels from a model's time end to end down to its lowest bound, each below the one
/// before. They are of the model's own type. Unknown and incomplete levels are left out. Empty: no
/// time end to end.
[[nodiscard]] std::vector<WaterfallLevel> compute_waterfall(const WhatIfInput& input,
                                                            const ModelBounds& bounds);

}  // namespace plumb::analysis
