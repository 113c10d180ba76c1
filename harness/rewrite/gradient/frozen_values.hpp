// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Word for the scales, shifts and statistics of all batch normalisations.
inline constexpr std::string_view kBatchNorms = "batch_norm";

/// Returns whether a text can name what is frozen: it has letters, digits and "_.*:/-" only.
[[nodiscard]] bool is_frozen_pattern(std::string_view text);

/// Finds the constants of layers that patterns name, in which '*' stands for any characters, and
/// what kBatchNorms stands for. Throws Error{kUser} for a pattern that names none.
[[nodiscard]] std::set<model::ValueId> frozen_values(const model::Graph& graph,
                                                     const std::vector<std::string>& patterns);

}  // namespace plumb::rewrite
