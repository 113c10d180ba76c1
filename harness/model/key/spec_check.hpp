// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/spec_problem.hpp"

namespace plumb::model {

/// Checks that operands, attributes and shapes fit together, as far as that is cheap. It compares
/// counts and ranks, channels and groups, output extents, permutations and words. Empty: nothing
/// wrong was found. The attributes that the operator's row requires must be present (to_key throws
/// otherwise).
[[nodiscard]] std::optional<SpecProblem> check_spec(const LayerSpec& spec);

}  // namespace plumb::model
