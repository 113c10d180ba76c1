// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// Fusions of a step of training that one mode switches on, without all others.
struct FusionFamily {
  std::string_view name;       ///< the mode's word
  std::string_view rules;      ///< rows of the table of rewrites: "matmul_add|bias_gradient"
  std::string_view functions;  ///< that may be fused behind a layer: "add|relu"

  /// Returns whether all that a match of the rules fuses behind its layer is among the functions.
  [[nodiscard]] bool contains(const Match& match) const;
};

/// Returns all families. A new one is one row, one mode of execution and one what-if.
[[nodiscard]] std::span<const FusionFamily> fusion_families();

/// Returns the family of a name. Throws Error{kInternal} if there is none.
[[nodiscard]] const FusionFamily& find_fusion_family(std::string_view name);

}  // namespace plumb::rewrite
