// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/analysis/whatif/what_if_result.hpp"

namespace plumb::analysis {

/// The most combinations that are proposed for a model.
inline constexpr std::size_t kMaxCombinations = 3;

/// Searches for what-ifs that save most together, greedily: the option that saves most comes first,
/// then the one that saves most beside it, and so on.
///
/// Options are the fastest variants, fusion and one type. All are priced from hot times of the
/// layers (price_mode()). Returns the best combinations of several options, the largest saving
/// first. Modes in `known` are left out: what-ifs of the table answer for them.
[[nodiscard]] std::vector<WhatIfResult> find_combinations(const WhatIfInput& input,
                                                          std::span<const std::string> known);

}  // namespace plumb::analysis
