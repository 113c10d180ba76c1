// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "harness/stats/series_change.hpp"

namespace plumb::analysis {

/// Points that a change may move by as its history grows.
inline constexpr std::size_t kMaxMove = 5;

/// Returns whether one look at a history shows a change clearly enough to bother a person.
///
/// - Evidence: each of the `runs` was a look, and each look can err. So the expected number of
///   quiet series that ever show as much, (1 − confidence) × runs, must be 0.01 or less.
/// - Dwell: noise with two states looks like a step until it has come back. So levels must have
///   stood 30 runs on average, up to the change and the newest 120 runs. Larger steps need fewer:
///   1.2 ÷ the step, such as 12 runs for 10 %.
///
/// `points` are all changes of the look, ascending. Those near a run in `explained` are known to be
/// no noise, and do not count as levels. `change` is one of the points, and slower. Pure.
[[nodiscard]] bool shows_clearly(std::span<const stats::ChangePoint> points,
                                 const stats::ChangePoint& change,
                                 std::size_t runs,
                                 std::span<const std::size_t> explained);

}  // namespace plumb::analysis
