// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/two_levels.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/hypergeometric.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {
namespace {

constexpr std::size_t kMinProcesses = 8;
constexpr std::size_t kMinAtLevel = 2;
const double kMinDistance = std::log(1.10);
constexpr double kMinDeviations = 8.0;

/// Division of sorted values into two parts.
struct Division {
  std::size_t first_high = 0;
  double low = 0.0;
  double high = 0.0;
  double squares = std::numeric_limits<double>::infinity();  ///< within the parts
};

Division best_division(std::span<const double> sorted) {
  // Sums are taken about the middle value. Squares of small differences of large numbers then stay
  // exact.
  const double origin = sorted[sorted.size() / 2];
  const auto n = static_cast<double>(sorted.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : sorted) {
    sum += value - origin;
    squares += (value - origin) * (value - origin);
  }
  Division best;
  double low_sum = 0.0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    low_sum += sorted[i - 1] - origin;
    if (i < kMinAtLevel || sorted.size() - i < kMinAtLevel) {
      continue;
    }
    const auto below = static_cast<double>(i);
    const double high_sum = sum - low_sum;
    const double within = squares - low_sum * low_sum / below - high_sum * high_sum / (n - below);
    if (within < best.squares) {
      best = {i, origin + low_sum / below, origin + high_sum / (n - below), within};
    }
  }
  return best;
}

/// Returns whether runs had processes at both levels, rather than a step between two runs.
bool is_mixed_within_runs(std::span<const std::vector<double>> runs, const TwoLevels& levels) {
  std::size_t mixed = 0;
  for (const std::vector<double>& run : runs) {
    const TwoLevels::Count count = levels.count(run);
    const std::size_t fewer = std::min(count.low, count.high);
    mixed += std::min(fewer, kMinAtLevel);
  }
  return mixed >= kMinAtLevel;
}

}  // namespace

TwoLevels::Count TwoLevels::count(std::span<const double> logs) const {
  TwoLevels::Count result;
  for (const double log : logs) {
    ++(log < between ? result.low : result.high);
  }
  return result;
}

std::optional<TwoLevels> find_two_levels(std::span<const std::vector<double>> runs) {
  std::vector<double> sorted;
  for (const std::vector<double>& run : runs) {
    sorted.insert(sorted.end(), run.begin(), run.end());
  }
  if (sorted.size() < kMinProcesses) {
    return std::nullopt;
  }
  std::sort(sorted.begin(), sorted.end());
  const Division division = best_division(sorted);
  const double distance = division.high - division.low;
  const double deviation =
      std::sqrt(std::max(division.squares, 0.0) / static_cast<double>(sorted.size() - 2));
  if (!(distance >= kMinDistance && distance >= kMinDeviations * deviation)) {
    return std::nullopt;
  }
  const TwoLevels levels{
      division.low,
      division.high,
      std::midpoint(sorted[division.first_high - 1], sorted[division.first_high]),
      {division.first_high, sorted.size() - division.first_high}};
  return is_mixed_within_runs(runs, levels) ? std::optional(levels) : std::nullopt;
}

double shares_p(const TwoLevels::Count& baseline, const TwoLevels::Count& candidate) {
  const auto drawn = static_cast<unsigned>(baseline.low + baseline.high);
  const auto low = static_cast<unsigned>(baseline.low + candidate.low);
  const auto all = drawn + static_cast<unsigned>(candidate.low + candidate.high);
  const boost::math::hypergeometric_distribution<double> tables(low, drawn, all);
  const double seen = boost::math::pdf(tables, static_cast<unsigned>(baseline.low));
  double p = 0.0;
  for (unsigned count = drawn + low > all ? drawn + low - all : 0; count <= std::min(drawn, low);
       ++count) {
    const double probability = boost::math::pdf(tables, count);
    // Equally likely tables count, whatever the last bit of the two probabilities.
    p += probability <= seen * (1.0 + 1e-9) ? probability : 0.0;
  }
  return std::min(p, 1.0);
}

namespace {

constexpr double kMad = 1.4826;
constexpr double kOutlierShare = 0.01;
constexpr double kOutlierScale = 3.0;  // deviations; outliers are spread as by Laplace

/// Returns the log-density of a value at distance `off` from its level. Outliers are allowed for.
double log_density(double off, double deviation) {
  const double z = off / deviation;
  const double normal = std::exp(-0.5 * z * z) / (deviation * std::sqrt(2.0 * std::numbers::pi));
  const double outlier = std::exp(-std::abs(z) / kOutlierScale) / (2.0 * kOutlierScale * deviation);
  return std::log((1.0 - kOutlierShare) * normal + kOutlierShare * outlier);
}

struct Levels {
  double low = 0.0;
  double high = 0.0;
  double deviation = 0.0;
};

double median_deviation(std::vector<double>& deviations) {
  return kMad * compute_median(deviations);
}

/// Splits the values where the squared error of two levels is least; absent: not separate.
std::optional<Levels> split_levels(std::span<const double> values) {
  constexpr double kGap = 4.0;      // deviations within a state
  constexpr double kVisited = 0.1;  // share of the points in the rarer state
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const StepPath::Cost cost(sorted);
  const std::size_t n = sorted.size();
  const auto least =
      std::max<std::size_t>(2, static_cast<std::size_t>(kVisited * static_cast<double>(n)));
  std::size_t cut = 0;
  double error = std::numeric_limits<double>::infinity();
  for (std::size_t i = least; i + least <= n; ++i) {
    const double sum = cost(0, i) + cost(i, n);
    if (sum < error) {
      error = sum;
      cut = i;
    }
  }
  if (cut == 0) {
    return std::nullopt;
  }
  const auto middle_of = [&](std::size_t begin, std::size_t end) {
    return (sorted[(begin + end - 1) / 2] + sorted[(begin + end) / 2]) / 2.0;
  };
  Levels levels{middle_of(0, cut), middle_of(cut, n), 0.0};
  std::vector<double> deviations;
  for (std::size_t i = 0; i < n; ++i) {
    deviations.push_back(std::abs(sorted[i] - (i < cut ? levels.low : levels.high)));
  }
  levels.deviation = median_deviation(deviations);
  if (levels.deviation <= 0.0 || levels.high - levels.low <= kGap * levels.deviation) {
    return std::nullopt;
  }
  return levels;
}

/// Log-probabilities to stay in a state and to leave it.
struct Moves {
  std::array<double, 2> stay{};
  std::array<double, 2> leave{};
};

Moves count_moves(const std::vector<char>& states) {
  // Pseudo-counts: a state that is never left must not have probability zero of being left.
  std::array<double, 2> points{1.0, 1.0};
  std::array<double, 2> left{0.5, 0.5};
  for (std::size_t i = 1; i < states.size(); ++i) {
    const auto from = static_cast<std::size_t>(states[i - 1]);
    points[from] += 1.0;
    left[from] += states[i] != states[i - 1] ? 1.0 : 0.0;
  }
  Moves moves;
  for (std::size_t s = 0; s < 2; ++s) {
    moves.leave[s] = std::log(left[s] / points[s]);
    moves.stay[s] = std::log1p(-left[s] / points[s]);
  }
  return moves;
}

using Densities = std::vector<std::array<double, 2>>;

Densities compute_densities(std::span<const double> values, const Levels& levels) {
  Densities densities;
  for (const double value : values) {
    densities.push_back({log_density(value - levels.low, levels.deviation),
                         log_density(value - levels.high, levels.deviation)});
  }
  return densities;
}

/// Returns the most likely states (Viterbi).
std::vector<char> decode(const Densities& densities, const Moves& moves) {
  const std::size_t n = densities.size();
  std::vector<std::array<char, 2>> from(n);
  std::array<double, 2> best = densities[0];
  for (std::size_t i = 1; i < n; ++i) {
    std::array<double, 2> next{};
    for (std::size_t s = 0; s < 2; ++s) {
      const double stayed = best[s] + moves.stay[s];
      const double moved = best[1 - s] + moves.leave[1 - s];
      from[i][s] = static_cast<char>(stayed >= moved ? s : 1 - s);
      next[s] = std::max(stayed, moved) + densities[i][s];
    }
    best = next;
  }
  std::vector<char> states(n);
  states[n - 1] = best[1] > best[0] ? 1 : 0;
  for (std::size_t i = n - 1; i > 0; --i) {
    states[i - 1] = from[i][static_cast<std::size_t>(states[i])];
  }
  return states;
}

/// Returns the log-likelihood over all paths (forward algorithm).
double compute_likelihood(const Densities& densities, const Moves& moves) {
  std::array<double, 2> share{0.5, 0.5};
  double total = 0.0;
  for (std::size_t i = 0; i < densities.size(); ++i) {
    if (i > 0) {
      share = {share[0] * std::exp(moves.stay[0]) + share[1] * std::exp(moves.leave[1]),
               share[1] * std::exp(moves.stay[1]) + share[0] * std::exp(moves.leave[0])};
    }
    // Scaled by the larger density, so that long series do not underflow.
    const double top = std::max(densities[i][0], densities[i][1]);
    share[0] *= std::exp(densities[i][0] - top);
    share[1] *= std::exp(densities[i][1] - top);
    const double sum = share[0] + share[1];
    total += top + std::log(sum);
    share[0] /= sum;
    share[1] /= sum;
  }
  return total;
}

/// Moves the levels to the medians of the points in each state. Returns false if a state is empty
/// or the levels meet.
bool refine(Levels& levels, std::span<const double> values, const std::vector<char>& states) {
  std::array<std::vector<double>, 2> members;
  for (std::size_t i = 0; i < values.size(); ++i) {
    members[static_cast<std::size_t>(states[i])].push_back(values[i]);
  }
  if (members[0].empty() || members[1].empty()) {
    return false;
  }
  levels.low = compute_median(members[0]);
  levels.high = compute_median(members[1]);
  std::vector<double> deviations;
  for (std::size_t i = 0; i < values.size(); ++i) {
    deviations.push_back(std::abs(values[i] - (states[i] != 0 ? levels.high : levels.low)));
  }
  const double deviation = median_deviation(deviations);
  levels.deviation = deviation > 0.0 ? deviation : levels.deviation;
  return levels.high > levels.low;
}

/// Returns whether the stays in the states are noise: short, or levels that return again and again.
/// Single points do not count as stays, since they may be outliers.
bool stays_are_noise(const std::vector<char>& states) {
  constexpr std::size_t kMinStays = 4;
  constexpr std::size_t kMeanStay = 14;
  constexpr std::size_t kManyLevels = 12;
  std::size_t stays = 0;
  std::size_t levels = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    length = i > 0 && states[i] == states[i - 1] ? length + 1 : 1;
    stays += length == 2 ? 1 : 0;
    levels += length == kMinSegment ? 1 : 0;
  }
  return levels >= kManyLevels || (stays >= kMinStays && states.size() < stays * kMeanStay);
}

}  // namespace

std::optional<TwoLevels::Jumps> fit_two_states(std::span<const double> values) {
  constexpr int kTurns = 2;
  constexpr double kParameters = 5.0;
  std::optional<Levels> levels = split_levels(values);
  if (!levels) {
    return std::nullopt;
  }
  TwoLevels::Jumps model;
  const double middle = (levels->low + levels->high) / 2.0;
  for (const double value : values) {
    model.is_high.push_back(value > middle ? 1 : 0);
  }
  Densities densities = compute_densities(values, *levels);
  Moves moves = count_moves(model.is_high);
  for (int turn = 0; turn < kTurns; ++turn) {
    model.is_high = decode(densities, moves);
    if (!refine(*levels, values, model.is_high)) {
      return std::nullopt;
    }
    densities = compute_densities(values, *levels);
    moves = count_moves(model.is_high);
  }
  if (!stays_are_noise(model.is_high)) {
    return std::nullopt;
  }
  model.low = levels->low;
  model.high = levels->high;
  model.score = -2.0 * compute_likelihood(densities, moves) +
                kParameters * std::log(static_cast<double>(values.size()));
  return model;
}

double score_levels(std::span<const double> residuals, double correlation, double variance) {
  const double deviation = std::sqrt(variance);
  const double marginal = deviation / std::sqrt(1.0 - correlation * correlation);
  constexpr double kOutlier = 4.0;
  double total = 0.0;
  double last = 0.0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    total += i == 0 ? log_density(residuals[i], marginal)
                    : log_density(residuals[i] - correlation * last, deviation);
    // One outlier must not carry over into the prediction of the next point.
    last = std::clamp(residuals[i], -kOutlier * marginal, kOutlier * marginal);
  }
  return -2.0 * total;
}

}  // namespace plumb::stats
