// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/series_change.hpp"

#include <array>

namespace plumb::stats {

std::string_view to_text(StateChange::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"low_level", "high_level", "high_share"};
  return kNames.at(static_cast<std::size_t>(kind));
}

}  // namespace plumb::stats
