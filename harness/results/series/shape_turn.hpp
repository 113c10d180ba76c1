// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace plumb::results {

/// Turn of a shape among those of its model that alternate: what was executed before it.
enum class ShapeTurn {
  kFirst,    ///< nothing of this shape: the very first execution in its process
  kSteady,   ///< the same shape
  kChanged,  ///< another shape
};
inline constexpr std::array kShapeTurns{ShapeTurn::kFirst, ShapeTurn::kSteady, ShapeTurn::kChanged};
[[nodiscard]] std::string_view to_text(ShapeTurn turn);  ///< "first", "steady", "changed"
[[nodiscard]] std::optional<ShapeTurn> parse_shape_turn(std::string_view text);

}  // namespace plumb::results
