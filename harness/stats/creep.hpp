// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace plumb::stats {

/// Gradual rise of a series' level by steps that are each too small to be detected.
struct Creep {
  std::size_t best_index = 0;  ///< middle of the window of the best level
  double best = 0.0;           ///< median of that window
  double newest = 0.0;         ///< median of the newest window
};

/// Cumulated relative rise from which creep is reported.
inline constexpr double kMinCreep = 0.05;

/// Compares the newest level of a series with the best one that it has had. Both are medians of
/// eleven points.
///
/// The rise must reach kMinCreep and six standard errors of such a median. The errors come from
/// medians of adjacent windows, so that autocorrelated noise counts in full. Needs 55 positive
/// values, oldest first. Absent: fewer values, or no creep. Pure.
[[nodiscard]] std::optional<Creep> find_creep(std::span<const double> values);

}  // namespace plumb::stats
