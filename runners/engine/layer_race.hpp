// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb {

/// Is one variant's standing after its first, short measurement.
struct RaceEntry {
  std::optional<Seconds> time;  ///< absent: refused, wrong, or not run
  bool library_choice = false;
};

/// Says who is measured in full: fastest first, those within `margin` of the best, at most `most`
/// of them, and the library's choice always (last, where it is not among them). Returns indices
/// into `entries`. Pure.
[[nodiscard]] std::vector<std::size_t> race_winners(std::span<const RaceEntry> entries,
                                                    double margin,
                                                    std::size_t most);

}  // namespace plumb
