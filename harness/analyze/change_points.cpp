// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/change_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLeastSegment = 5;  // fewer points at the end are a suspicion
constexpr std::size_t kLeastLength = 2 * kLeastSegment;
constexpr std::size_t kMedianReach = 5;  // the running median looks so far to both sides
constexpr double kClip = 2.5;            // deviations beyond which a value is an outlier
constexpr double kFinePenalty = 7.0;     // penalty of the first, too fine segmentation
constexpr double kFalseAtPenalty =
    0.01;                        // false change points of a quiet series, at most; by simulation
constexpr double kMad = 1.4826;  // median absolute deviation to standard deviation

double median_of(std::vector<double>& scratch) {
  const auto middle = scratch.begin() + static_cast<std::ptrdiff_t>(scratch.size() / 2);
  std::nth_element(scratch.begin(), middle, scratch.end());
  if (scratch.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(scratch.begin(), middle)) / 2.0;
}

double median(std::span<const double> values) {
  std::vector<double> scratch(values.begin(), values.end());
  return median_of(scratch);
}

std::vector<double> running_median(std::span<const double> values) {
  std::vector<double> result(values.size());
  std::vector<double> window;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i < kMedianReach ? 0 : i - kMedianReach;
    const std::size_t end = std::min(values.size(), i + kMedianReach + 1);
    window.assign(values.begin() + static_cast<std::ptrdiff_t>(begin),
                  values.begin() + static_cast<std::ptrdiff_t>(end));
    result[i] = median_of(window);
  }
  return result;
}

/// Estimates the noise from differences of neighbours, which steps hardly touch; zero: constant.
double noise_of(std::span<const double> values) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) {
    differences.push_back(std::abs(values[i] - values[i - 1]));
  }
  return kMad * median_of(differences) / std::sqrt(2.0);
}

using Boundaries = std::vector<std::size_t>;  // 0, first points of further segments, length

/// Sums for the squared error of any segment in constant time.
class SegmentCost {
 public:
  explicit SegmentCost(std::span<const double> values) : sum_(1, 0.0), square_(1, 0.0) {
    for (const double value : values) {
      sum_.push_back(sum_.back() + value);
      square_.push_back(square_.back() + value * value);
    }
  }
  [[nodiscard]] double operator()(std::size_t begin, std::size_t end) const {
    const double sum = sum_[end] - sum_[begin];
    return square_[end] - square_[begin] - sum * sum / static_cast<double>(end - begin);
  }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
    return (sum_[end] - sum_[begin]) / static_cast<double>(end - begin);
  }

 private:
  std::vector<double> sum_;
  std::vector<double> square_;
};

Boundaries segment(const SegmentCost& cost, std::size_t length, double penalty) {
  std::vector<double> best(length + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(length + 1, 0);
  std::vector<std::size_t> candidates{0};
  std::vector<double> totals;
  best[0] = -penalty;
  for (std::size_t end = kLeastSegment; end <= length; ++end) {
    if (end >= 2 * kLeastSegment) {
      candidates.push_back(end - kLeastSegment);
    }
    totals.resize(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      totals[i] = best[candidates[i]] + cost(candidates[i], end);
      if (totals[i] + penalty < best[end]) {
        best[end] = totals[i] + penalty;
        from[end] = candidates[i];
      }
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (totals[i] <= best[end]) {
        candidates[kept++] = candidates[i];
      }
    }
    candidates.resize(kept);
  }
  Boundaries result{length};
  while (result.back() > 0) {
    result.push_back(from[result.back()]);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// Puts each boundary where the error of its two segments is least, the others held.
void settle(Boundaries& bounds, const SegmentCost& cost) {
  for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = bounds[k - 1] + kLeastSegment; at + kLeastSegment <= bounds[k + 1];
         ++at) {
      const double error = cost(bounds[k - 1], at) + cost(at, bounds[k + 1]);
      if (error < least) {
        least = error;
        bounds[k] = at;
      }
    }
  }
}

struct Fit {
  double correlation = 0.0;
  double variance = 0.0;  // of what the neighbour does not explain
};

Fit fit_of(std::span<const double> values, const Boundaries& bounds, const SegmentCost& cost) {
  double square = 0.0;
  double product = 0.0;
  double last = 0.0;
  double first_square = 0.0;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    const double mean = cost.mean(bounds[k], bounds[k + 1]);
    for (std::size_t i = bounds[k]; i < bounds[k + 1]; ++i) {
      const double residual = values[i] - mean;
      square += residual * residual;
      product += residual * last;
      last = residual;
      first_square = i == 0 ? residual * residual : first_square;
    }
  }
  Fit fit;
  const double earlier = square - last * last;  // of those that have a follower
  if (earlier > 0.0) {
    fit.correlation = std::clamp(product / earlier, 0.0, 0.95);
  }
  const double rho = fit.correlation;
  // Σ (e_i − ρ e_{i−1})² and the first one, which has no neighbour (exact likelihood's weight).
  const double innovations = (square - first_square) - 2.0 * rho * product + rho * rho * earlier +
                             (1.0 - rho * rho) * first_square;
  fit.variance = std::max(innovations, 1e-12) / static_cast<double>(values.size());
  return fit;
}

/// Is the gain in twice the log-likelihood that a change point must bring; see the header.
double penalty_of(std::size_t length) {
  return 3.0 * std::log(static_cast<double>(length));
}

double score_of(std::span<const double> values, const Boundaries& bounds, const SegmentCost& cost) {
  // Short series underestimate their correlation (Kendall, Biometrika 41, 1954: by (1 + 3ρ)/n).
  constexpr double kShortness = 50.0;
  const auto length = static_cast<double>(values.size());
  const Fit fit = fit_of(values, bounds, cost);
  const double penalty = penalty_of(values.size()) * (1.0 + kShortness * fit.correlation / length);
  return length * std::log(fit.variance) - std::log(1.0 - fit.correlation * fit.correlation) +
         penalty * static_cast<double>(bounds.size() - 2);
}

Boundaries without(const Boundaries& bounds, std::size_t k) {
  Boundaries result(bounds);
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(k));
  return result;
}

/// Removes the boundary that explains least, until none is left; returns the best number of them.
Boundaries choose(std::span<const double> values, Boundaries bounds, const SegmentCost& cost) {
  Boundaries best;
  double best_score = std::numeric_limits<double>::infinity();
  while (true) {
    settle(bounds, cost);
    const double score = score_of(values, bounds, cost);
    if (score <= best_score) {
      best_score = score;
      best = bounds;
    }
    if (bounds.size() == 2) {
      return best;
    }
    std::size_t weakest = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
      const double loss = cost(bounds[k - 1], bounds[k + 1]) - cost(bounds[k - 1], bounds[k]) -
                          cost(bounds[k], bounds[k + 1]);
      if (loss < least) {
        least = loss;
        weakest = k;
      }
    }
    bounds = without(bounds, weakest);
  }
}

/// Tells whether values jump to and fro between two separate levels.
bool has_two_states(std::span<const double> values) {
  constexpr double kGap = 4.0;      // deviations within a state
  constexpr double kVisited = 0.1;  // share of the points in the rarer state
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const SegmentCost cost(sorted);
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
    return false;
  }
  const std::span<const double> low(sorted.data(), cut);
  const std::span<const double> high(sorted.data() + cut, n - cut);
  const double centres[] = {median(low), median(high)};
  std::vector<double> deviations;
  for (std::size_t i = 0; i < n; ++i) {
    deviations.push_back(std::abs(sorted[i] - centres[i < cut ? 0 : 1]));
  }
  const double within = kMad * median_of(deviations);
  if (centres[1] - centres[0] <= kGap * within) {
    return false;
  }
  const double middle = (centres[0] + centres[1]) / 2.0;
  std::vector<std::size_t> stays;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 0 || (values[i] > middle) != (values[i - 1] > middle)) {
      stays.push_back(0);
    }
    ++stays.back();
  }
  // One jump is a step; two with long stays are a step and its return.
  return stays.size() > 3 ||
         (stays.size() == 3 && *std::min_element(stays.begin(), stays.end()) < 2 * kLeastSegment);
}

/// Tells whether the levels go to and fro: three or more jumps of like size, up and down in turn.
bool goes_to_and_fro(const Boundaries& bounds, const SegmentCost& cost) {
  constexpr double kLike = 5.0;        // largest jump over smallest
  constexpr double kExceptions = 0.2;  // share of jumps that may break the turn
  if (bounds.size() < 5) {
    return false;
  }
  std::vector<double> jumps;
  for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
    jumps.push_back(cost.mean(bounds[k], bounds[k + 1]) - cost.mean(bounds[k - 1], bounds[k]));
  }
  double same = 0.0;
  double least = std::abs(jumps[0]);
  double most = least;
  for (std::size_t k = 1; k < jumps.size(); ++k) {
    same += (jumps[k] > 0.0) == (jumps[k - 1] > 0.0) ? 1.0 : 0.0;
    least = std::min(least, std::abs(jumps[k]));
    most = std::max(most, std::abs(jumps[k]));
  }
  return same <= kExceptions * static_cast<double>(jumps.size() - 1) && most <= kLike * least;
}

/// Looks at the last points, too few for a segment, against the level before them, by generalised
/// least squares: of autocorrelated noise only the innovations are news. A step shows whole in the
/// first of them, and by its share 1 − ρ in each that follows.
std::optional<std::size_t> suspicious_tail(std::span<const double> values,
                                           std::size_t begin,
                                           const Fit& fit) {
  constexpr double kOutlier = 4.0;     // deviations that one point may count at most
  constexpr double kSingle = 5.0;      // deviations that make one point alone suspicious
  constexpr double kSuspicious = 3.4;  // standard errors
  const double rho = fit.correlation;
  const double innovation = std::sqrt(fit.variance);
  const double deviation = innovation / std::sqrt(1.0 - rho * rho);
  std::optional<std::size_t> index;
  double most = kSuspicious;
  for (std::size_t count = 1; count < kLeastSegment; ++count) {
    if (begin + kLeastSegment + count > values.size()) {
      break;
    }
    const std::size_t split = values.size() - count;
    const double level = median(values.subspan(begin, split - begin));
    const auto off = [&](std::size_t i) {
      return std::clamp((values[i] - level) / deviation, -kOutlier, kOutlier) * deviation;
    };
    double sum = 0.0;
    double weights = 0.0;
    double squares = 0.0;
    for (std::size_t i = split; i < values.size(); ++i) {
      const double news = (values[i] - level - rho * off(i - 1)) / innovation;
      const double weight = i == split ? 1.0 : 1.0 - rho;
      sum += weight * (count == 1 ? news : std::clamp(news, -kOutlier, kOutlier));
      weights += weight;
      squares += weight * weight;
    }
    // The level is a mean of autocorrelated points itself, and every innovation has its share.
    const double of_level =
        (1.0 + rho) / (1.0 - rho) / (1.0 - rho * rho) / static_cast<double>(split - begin);
    const double error = std::sqrt(squares + std::pow((1.0 - rho) * weights, 2) * of_level);
    const double z = std::abs(sum) / error;
    if (z > most && (count > 1 || std::abs(sum) > kSingle)) {
      most = z;
      index = split;
    }
  }
  return index;
}

}  // namespace

Detection detect_changes(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(Error::Kind::kUser,
                  fmt::format("value {} of the series is not a finite number", i));
    }
  }
  Detection result;
  if (values.size() < kLeastLength) {
    return result;
  }
  std::vector<double> scaled(values.begin(), values.end());
  const bool positive = *std::min_element(values.begin(), values.end()) > 0.0;
  if (positive) {
    std::transform(
        scaled.begin(), scaled.end(), scaled.begin(), [](double v) { return std::log(v); });
  }
  const double centre = median(scaled);
  double noise = noise_of(scaled);
  if (noise <= 0.0) {
    // More than half of the neighbours are equal: a quantum of the values stands in.
    const auto [low, high] = std::minmax_element(scaled.begin(), scaled.end());
    noise = (*high - *low) / 100.0;
    if (noise <= 0.0) {
      return result;
    }
  }
  for (double& value : scaled) {
    value = (value - centre) / noise;
  }
  const std::vector<double> smooth = running_median(scaled);
  std::vector<double> clipped(scaled);
  for (std::size_t i = 0; i < clipped.size(); ++i) {
    clipped[i] = std::clamp(clipped[i], smooth[i] - kClip, smooth[i] + kClip);
  }
  const SegmentCost cost(clipped);
  Boundaries bounds = choose(clipped, segment(cost, clipped.size(), kFinePenalty), cost);
  result.two_states = has_two_states(scaled) || goes_to_and_fro(bounds, cost);
  if (result.two_states) {
    bounds = {0, clipped.size()};
  }
  const auto level = [&](std::size_t begin, std::size_t end) {
    return median(values.subspan(begin, end - begin));
  };
  const double score = score_of(clipped, bounds, cost);
  for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
    const double surplus = score_of(clipped, without(bounds, k), cost) - score;
    result.change_points.push_back(
        {.index = bounds[k],
         .before = level(bounds[k - 1], bounds[k]),
         .after = level(bounds[k], bounds[k + 1]),
         .confidence = 1.0 - kFalseAtPenalty * std::exp(-std::max(surplus, 0.0) / 2.0)});
  }
  if (!result.two_states) {
    const std::size_t begin = bounds[bounds.size() - 2];
    Boundaries earlier(bounds);  // the last points must not vouch for themselves
    earlier.back() -= kLeastSegment - 1;
    const std::span<const double> known(clipped.data(), earlier.back());
    if (const auto tail = suspicious_tail(scaled, begin, fit_of(known, earlier, cost))) {
      result.suspicions.push_back(
          {.index = *tail, .before = level(begin, *tail), .after = level(*tail, values.size())});
    }
  }
  return result;
}

}  // namespace plumb
