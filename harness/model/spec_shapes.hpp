// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/spec_check.hpp"

namespace plumb {

/// Checks a specification's shapes and lists of numbers against each other, as its operator
/// computes the output from them. Operand counts and words must have been checked. Empty: nothing
/// wrong was found.
[[nodiscard]] std::optional<SpecProblem> check_shapes(const LayerSpec& spec);

}  // namespace plumb
