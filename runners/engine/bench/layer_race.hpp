// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::engine {

/// Returns the indices of the times within `margin` of the shortest, shortest first. `margin` is
/// relative. Absent times are left out. Pure.
[[nodiscard]] std::vector<std::size_t> within_margin(std::span<const std::optional<Seconds>> times,
                                                     double margin);

/// Returns how many of `contestants` remain after a round of successive halving: half, rounded up.
/// The race ends when at most `most` are left (Karnin, Koren and Somekh, ICML 2013, §3).
[[nodiscard]] std::size_t survivors(std::size_t contestants, std::size_t most);

}  // namespace plumb::engine
