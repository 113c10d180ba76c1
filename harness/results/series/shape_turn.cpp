// SPDX-License-Identifier: Apache-2.0
#include "harness/results/series/shape_turn.hpp"

#include <algorithm>
#include <cstddef>

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, kShapeTurns.size()> kTexts{"first", "steady", "changed"};

}  // namespace

std::string_view to_text(ShapeTurn turn) {
  return kTexts.at(static_cast<std::size_t>(turn));
}

std::optional<ShapeTurn> parse_shape_turn(std::string_view text) {
  const auto* const found = std::find(kTexts.begin(), kTexts.end(), text);
  return found == kTexts.end() ? std::nullopt
                               : std::optional(static_cast<ShapeTurn>(found - kTexts.begin()));
}

}  // namespace plumb::results
