// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Error in a layer specification, and the field of its key that has it.
struct SpecProblem {
  std::string field;  ///< "in", "out", "epilogue" or the attribute's name
  std::string text;
};

/// Checks the shapes and lists of numbers of a specification against each other. The operator's
/// rule computes the output from them. Operand counts and words must have been checked. Empty:
/// nothing wrong was found.
[[nodiscard]] std::optional<SpecProblem> check_shapes(const LayerSpec& spec);

/// Checks that operands, attributes and shapes fit together, as far as that is cheap. It compares
/// counts and ranks, channels and groups, output extents, permutations and words. Empty: nothing
/// wrong was found. The attributes that the operator's row requires must be present (to_key throws
/// otherwise).
[[nodiscard]] std::optional<SpecProblem> check_spec(const LayerSpec& spec);

}  // namespace plumb::model
