// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {

/// Makes a match of a rule. Sorts the layers, writes the key and computes the cost of the spec.
[[nodiscard]] Match make_match(std::string_view rule,
                               std::vector<model::LayerId> layers,
                               Replacement replacement);

}  // namespace plumb::rewrite
