// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb {

/// Returns the indices of the times within `margin` of the shortest, shortest first; times may be
/// absent. Pure.
[[nodiscard]] std::vector<std::size_t> close_to_best(std::span<const std::optional<Seconds>> times,
                                                     double margin);

/// Returns how many of `contestants` stay after a round of successive halving: half, rounded up.
/// The race ends when no more than `most` are left (Karnin, Koren and Somekh, ICML 2013, §3).
[[nodiscard]] std::size_t stay_after_round(std::size_t contestants, std::size_t most);

}  // namespace plumb
