// SPDX-License-Identifier: Apache-2.0
#include "harness/results/series/shape_turn.hpp"

#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, kShapeTurns.size()> kTexts{"first", "steady", "changed"};

}  // namespace

std::string_view to_text(ShapeTurn turn) {
  return enum_text(kTexts, turn);
}

std::optional<ShapeTurn> parse_shape_turn(std::string_view text) {
  return parse_enum<ShapeTurn>(kTexts, text);
}

}  // namespace plumb::results
