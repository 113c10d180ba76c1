// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/state_share.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "harness/stats/step_model.hpp"

namespace plumb::stats {
namespace {

/// Returns the log-likelihood of the numbers of moves out of each state, by its points.
double compute_move_likelihood(const std::array<double, 2>& points,
                               const std::array<double, 2>& left) {
  double total = 0.0;
  for (std::size_t s = 0; s < 2; ++s) {
    const double stayed = points[s] - left[s];
    total += left[s] > 0.0 ? left[s] * std::log(left[s] / points[s]) : 0.0;
    total += stayed > 0.0 ? stayed * std::log(stayed / points[s]) : 0.0;
  }
  return total;
}

/// Cumulative counts of points and of moves out of each state, up to each point.
struct MoveCounts {
  std::vector<std::array<double, 2>> points{{0.0, 0.0}};
  std::vector<std::array<double, 2>> left{{0.0, 0.0}};

  explicit MoveCounts(const std::vector<char>& states) {
    for (std::size_t i = 0; i + 1 < states.size(); ++i) {
      points.push_back(points.back());
      left.push_back(left.back());
      const auto state = static_cast<std::size_t>(states[i]);
      points.back()[state] += 1.0;
      left.back()[state] += states[i + 1] != states[i] ? 1.0 : 0.0;
    }
  }
  [[nodiscard]] double likelihood(std::size_t begin, std::size_t end) const {
    return compute_move_likelihood(
        {points[end][0] - points[begin][0], points[end][1] - points[begin][1]},
        {left[end][0] - left[begin][0], left[end][1] - left[begin][1]});
  }
};

/// Adds the changes of the share between `begin` and `end`, by binary segmentation of the moves'
/// likelihood.
void add_share_changes(const std::vector<char>& states,
                       const MoveCounts& counts,
                       std::size_t begin,
                       std::size_t end,
                       std::vector<StateChange>& result) {
  constexpr std::size_t kMinPoints = 20;
  constexpr double kMinDifference = 0.15;
  double gain = 0.0;
  std::size_t index = 0;
  for (std::size_t at = begin + kMinPoints; at + kMinPoints <= end; ++at) {
    const double split = counts.likelihood(begin, at) + counts.likelihood(at, end);
    if (split > gain || index == 0) {
      gain = split;
      index = at;
    }
  }
  if (index == 0) {
    return;
  }
  const double surplus =
      2.0 * (gain - counts.likelihood(begin, end)) - compute_penalty(states.size(), 0.0, 1);
  const auto share = [&](std::size_t from, std::size_t to) {
    return static_cast<double>(std::count(states.begin() + static_cast<std::ptrdiff_t>(from),
                                          states.begin() + static_cast<std::ptrdiff_t>(to),
                                          1)) /
           static_cast<double>(to - from);
  };
  const double before = share(begin, index);
  const double after = share(index, end);
  if (surplus <= 0.0 || std::abs(after - before) < kMinDifference) {
    return;
  }
  add_share_changes(states, counts, begin, index, result);
  result.push_back(
      {StateChange::Kind::kHighShare, index, before, after, compute_confidence(surplus)});
  add_share_changes(states, counts, index, end, result);
}

}  // namespace

std::vector<StateChange> find_share_changes(const std::vector<char>& is_high) {
  std::vector<StateChange> changes;
  add_share_changes(is_high, MoveCounts(is_high), 0, is_high.size() - 1, changes);
  return changes;
}

}  // namespace plumb::stats
