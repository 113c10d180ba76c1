// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/spec_problem.hpp"

namespace plumb::model {

/// Checks the shapes and lists of numbers of a specification against each other. The operator's
/// rule computes the output from them. Operand counts and words must have been checked. Empty:
/// nothing wrong was found.
[[nodiscard]] std::optional<SpecProblem> check_shapes(const LayerSpec& spec);

}  // namespace plumb::model
