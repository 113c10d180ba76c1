// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analysis/report/json_document.hpp"
#include "harness/analysis/whatif/waterfall.hpp"
#include "harness/analysis/whatif/what_if_result.hpp"

namespace plumb::analysis {

/// Returns a what-if as an object of the contract of `plumb whatif`.
[[nodiscard]] Json what_if_json(const WhatIfResult& result);

/// Returns the levels from a model's time now to its bound.
[[nodiscard]] Json waterfall_json(const std::vector<WaterfallLevel>& levels);

}  // namespace plumb::analysis
