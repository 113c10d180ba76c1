// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "harness/stats/change_points.hpp"
#include "harness/stats/segmentation.hpp"
#include "harness/stats/two_levels.hpp"

namespace plumb::stats {

std::string_view to_text(Detection::StateChange::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"low_level", "high_level", "high_share"};
  return kNames.at(static_cast<std::size_t>(kind));
}

namespace {

constexpr std::size_t kWindow = 11;
constexpr std::size_t kMinWindows = 5;
constexpr double kErrors = 6.0;

double compute_window_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the standard error of a window's median. It is the root mean square of the differences
/// between adjacent windows, over √2. A creep that is spread over many windows hardly changes it.
double compute_error(std::span<const double> medians) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = kWindow; i < medians.size(); i += kWindow, ++count) {
    const double difference = medians[i] - medians[i - kWindow];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(count) / 2.0);
}

}  // namespace

std::optional<Detection::Creep> find_creep(std::span<const double> values) {
  if (values.size() < kWindow * kMinWindows ||
      std::any_of(values.begin(), values.end(), [](double value) { return !(value > 0.0); })) {
    return std::nullopt;
  }
  std::vector<double> medians;  // of logarithms, by the window's first point
  for (std::size_t i = 0; i + kWindow <= values.size(); ++i) {
    std::vector<double> window;
    for (const double value : values.subspan(i, kWindow)) {
      window.push_back(std::log(value));
    }
    medians.push_back(compute_window_median(std::move(window)));
  }
  const auto best = std::min_element(medians.begin(), medians.end());
  const double rise = medians.back() - *best;
  if (rise < std::log1p(kMinCreep) || rise < kErrors * compute_error(medians)) {
    return std::nullopt;
  }
  return Detection::Creep{static_cast<std::size_t>(best - medians.begin()) + kWindow / 2,
                          std::exp(*best),
                          std::exp(medians.back())};
}

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
                       std::vector<Detection::StateChange>& result) {
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
  result.push_back({{index, before, after, compute_confidence(surplus)},
                    Detection::StateChange::Kind::kHighShare});
  add_share_changes(states, counts, index, end, result);
}

/// Finds where the share of points in the higher state changed by 0.15 or more. The method is
/// binary segmentation of the likelihood of a Markov chain's moves. Parts have at least twenty
/// points.
std::vector<Detection::StateChange> find_share_changes(const std::vector<char>& is_high) {
  std::vector<Detection::StateChange> changes;
  add_share_changes(is_high, MoveCounts(is_high), 0, is_high.size() - 1, changes);
  return changes;
}

/// Returns the values less their levels, which are means of the clipped values.
std::vector<double> subtract_levels(const ScaledSeries& scaled, const Boundaries& bounds) {
  std::vector<double> rest(scaled.values);
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    double sum = 0.0;
    for (std::size_t i = bounds[k]; i < bounds[k + 1]; ++i) {
      sum += scaled.clipped[i];
    }
    for (std::size_t i = bounds[k]; i < bounds[k + 1]; ++i) {
      rest[i] -= sum / static_cast<double>(bounds[k + 1] - bounds[k]);
    }
  }
  return rest;
}

/// Fits two states to the values less each of the coarser levels, and returns the best fit. Absent:
/// none is more likely than the chosen levels.
std::optional<TwoLevels::Jumps> fit_best(const ScaledSeries& scaled, const StepPath& levels) {
  const StepPath::Model::Noise& noise = levels.best.noise;
  const std::size_t n = scaled.values.size();
  std::optional<TwoLevels::Jumps> best;
  for (auto bounds = levels.coarse.rbegin(); bounds != levels.coarse.rend(); ++bounds) {
    const std::size_t steps = bounds->size() - 2;
    std::optional<TwoLevels::Jumps> model = fit_two_states(subtract_levels(scaled, *bounds));
    if (model) {
      model->score += compute_penalty(n, 0.0, steps);
    }
    if (best && (!model || model->score >= best->score)) {
      break;  // more levels do not help
    }
    best = std::move(model);
    if (steps == levels.best.steps()) {
      break;
    }
  }
  if (best) {
    const std::vector<double> rest = subtract_levels(scaled, levels.best.bounds);
    if (best->score >= score_levels(rest, noise.correlation, noise.variance) +
                           compute_penalty(n, noise.correlation, levels.best.steps())) {
      best.reset();
    }
  }
  return best;
}

/// Points of one state.
struct StateMembers {
  std::vector<double> values;
  std::vector<std::size_t> indices;  // ascending

  [[nodiscard]] std::size_t position(std::size_t index) const {
    return static_cast<std::size_t>(std::lower_bound(indices.begin(), indices.end(), index) -
                                    indices.begin());
  }
  /// Returns the median of the members between two points of the series. Absent: there are none.
  [[nodiscard]] std::optional<double> level(std::size_t begin, std::size_t end) const {
    const std::size_t first = position(begin);
    const std::size_t last = position(end);
    if (first == last) {
      return std::nullopt;
    }
    return compute_median(std::span<const double>(values).subspan(first, last - first));
  }
};

StateMembers find_members(std::span<const double> values,
                          const std::vector<char>& is_high,
                          char state) {
  StateMembers members;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_high[i] == state) {
      members.values.push_back(values[i]);
      members.indices.push_back(i);
    }
  }
  return members;
}

/// One step found in the level of one state, or of both.
struct LevelStep {
  std::size_t index = 0;
  double confidence = 0.0;
};

/// Finds steps of `values`, and returns them by the indices of the series.
std::vector<LevelStep> find_level_steps(std::span<const double> values,
                                        const std::vector<std::size_t>& indices) {
  std::vector<LevelStep> steps;
  if (values.size() < 2 * kMinSegment) {
    return steps;
  }
  const auto scaled = scale_series(values);
  if (!scaled) {
    return steps;
  }
  const StepPath::Cost cost(scaled->clipped);
  const StepPath::Model model = find_levels(scaled->clipped).best;
  for (std::size_t k = 1; k + 1 < model.bounds.size(); ++k) {
    const double surplus =
        score_steps(scaled->clipped, without(model.bounds, k), cost).score - model.score;
    steps.push_back({indices[model.bounds[k]], compute_confidence(surplus)});
  }
  return steps;
}

/// Classifies steps of the joined series: changes of both levels, or of one.
void add_level_changes(std::span<const double> values,
                       const std::array<StateMembers, 2>& states,
                       const std::vector<LevelStep>& steps,
                       Detection& changes) {
  constexpr double kMoved = 0.25;  // of the other level's change
  using Kind = Detection::StateChange::Kind;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t begin = k == 0 ? 0 : steps[k - 1].index;
    const std::size_t at = steps[k].index;
    const std::size_t end = k + 1 < steps.size() ? steps[k + 1].index : values.size();
    std::array<double, 2> moved{};
    std::array<std::pair<double, double>, 2> level{};
    bool both_seen = true;
    for (std::size_t s = 0; s < 2; ++s) {
      const auto before = states[s].level(begin, at);
      const auto after = states[s].level(at, end);
      both_seen = both_seen && before && after;
      level[s] = {before.value_or(0.0), after.value_or(0.0)};
      moved[s] = level[s].second - level[s].first;
    }
    const std::size_t most = std::abs(moved[1]) > std::abs(moved[0]) ? 1 : 0;
    if (both_seen && moved[1 - most] / moved[most] < kMoved) {
      changes.state_changes.push_back(
          {{at, level[most].first, level[most].second, steps[k].confidence},
           most == 1 ? Kind::kHighLevel : Kind::kLowLevel});
    } else {
      changes.change_points.push_back({.index = at,
                                       .before = compute_median(values.subspan(begin, at - begin)),
                                       .after = compute_median(values.subspan(at, end - at)),
                                       .confidence = steps[k].confidence});
    }
  }
}

/// Adds steps that only the points of one state show.
void add_state_steps(const StateMembers& members,
                     Detection::StateChange::Kind kind,
                     Detection& changes) {
  constexpr std::size_t kNear = 5;
  const std::vector<LevelStep> steps = find_level_steps(members.values, members.indices);
  const auto known = [&](const LevelStep& step) {
    const std::size_t last_before = members.indices[members.position(step.index) - 1];
    const auto near = [&](const auto& change) {
      return change.index + kNear >= last_before && change.index <= step.index + kNear;
    };
    return std::any_of(changes.change_points.begin(), changes.change_points.end(), near) ||
           std::any_of(changes.state_changes.begin(), changes.state_changes.end(), near);
  };
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t begin = k == 0 ? 0 : steps[k - 1].index;
    const std::size_t end = k + 1 < steps.size() ? steps[k + 1].index : members.indices.back() + 1;
    if (!known(steps[k])) {
      changes.state_changes.push_back({{steps[k].index,
                                        members.level(begin, steps[k].index).value_or(0.0),
                                        members.level(steps[k].index, end).value_or(0.0),
                                        steps[k].confidence},
                                       kind});
    }
  }
}

}  // namespace

std::optional<Detection> find_two_state_changes(std::span<const double> values,
                                                const ScaledSeries& scaled,
                                                const StepPath& levels) {
  const auto model = fit_best(scaled, levels);
  if (!model) {
    return std::nullopt;
  }
  Detection changes;
  changes.two_states = true;
  const std::array<StateMembers, 2> states{find_members(values, model->is_high, 0),
                                           find_members(values, model->is_high, 1)};
  // Without the gap between the states, a change of both levels is a step like any other.
  std::vector<double> joined(scaled.values);
  std::vector<std::size_t> indices(values.size());
  for (std::size_t i = 0; i < joined.size(); ++i) {
    joined[i] -= model->is_high[i] != 0 ? model->high - model->low : 0.0;
    indices[i] = i;
  }
  add_level_changes(values, states, find_level_steps(joined, indices), changes);
  add_state_steps(states[0], Detection::StateChange::Kind::kLowLevel, changes);
  add_state_steps(states[1], Detection::StateChange::Kind::kHighLevel, changes);
  for (const Detection::StateChange& change : find_share_changes(model->is_high)) {
    changes.state_changes.push_back(change);
  }
  std::sort(changes.state_changes.begin(),
            changes.state_changes.end(),
            [](const auto& one, const auto& other) { return one.index < other.index; });
  return changes;
}

}  // namespace plumb::stats
