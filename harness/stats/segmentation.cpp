// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/segmentation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace plumb::stats {

StepPath::Cost::Cost(std::span<const double> values) {
  const std::size_t n = values.size() + 1;
  sum_.resize(n);
  square_.resize(n);
  inverse_.resize(n);
  for (std::size_t i = 1; i < n; ++i) {
    const double value = values[i - 1];
    sum_[i] = sum_[i - 1] + value;
    square_[i] = square_[i - 1] + value * value;
    inverse_[i] = 1.0 / static_cast<double>(i);
  }
}

Boundaries find_segments(const StepPath::Cost& cost, double penalty) {
  constexpr std::size_t kPruneEvery = 8;  // pruning costs as much as evaluating
  const std::size_t length = cost.length();
  std::vector<double> best(length + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(length + 1, 0);
  // Candidates for the first point of the last segment, as arrays so that the loop vectorises.
  std::vector<std::size_t> begins(length + 1, 0);
  std::vector<double> sums(length + 1, 0.0);
  std::vector<double> bases(length + 1, 0.0);  // best before the candidate less its squares
  std::vector<double> totals(length + 1, 0.0);
  std::vector<double> counts(length + 1, 0.0);
  best[0] = -penalty;
  bases[0] = -penalty;
  std::size_t candidates = 1;
  for (std::size_t end = kMinSegment; end <= length; ++end) {
    if (end >= 2 * kMinSegment) {
      const std::size_t begin = end - kMinSegment;
      begins[candidates] = begin;
      counts[candidates] = static_cast<double>(begin);
      sums[candidates] = cost.sum_[begin];
      bases[candidates++] = best[begin] - cost.square_[begin];
    }
    const double sum = cost.sum_[end];
    const double square = cost.square_[end];
    const auto count = static_cast<double>(end);
    for (std::size_t i = 0; i < candidates; ++i) {
      const double part = sum - sums[i];
      totals[i] = bases[i] + square - part * part / (count - counts[i]);
    }
    const auto* const least = std::min_element(totals.data(), totals.data() + candidates);
    best[end] = *least + penalty;
    from[end] = begins[static_cast<std::size_t>(least - totals.data())];
    if (end % kPruneEvery != 0) {
      continue;
    }
    // A begin that costs more up to `end` than the best path does will not be best later either.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates; ++i) {
      if (totals[i] <= best[end]) {
        begins[kept] = begins[i];
        counts[kept] = counts[i];
        sums[kept] = sums[i];
        bases[kept++] = bases[i];
      }
    }
    candidates = kept;
  }
  Boundaries result{length};
  while (result.back() > 0) {
    result.push_back(from[result.back()]);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

void settle_boundaries(Boundaries& bounds, const StepPath::Cost& cost) {
  for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = bounds[k - 1] + kMinSegment; at + kMinSegment <= bounds[k + 1]; ++at) {
      const double error = cost(bounds[k - 1], at) + cost(at, bounds[k + 1]);
      if (error < least) {
        least = error;
        bounds[k] = at;
      }
    }
  }
}

namespace {

using Changes = std::set<std::size_t>;

Changes with_start(const MarkedChanges& marked) {
  Changes changes(marked.begin(), marked.end());
  changes.insert(0);
  return changes;
}

std::size_t distance(std::size_t one, std::size_t other) {
  return one < other ? other - one : one - other;
}

/// Counts the true changes with a found change within `margin`. Each found one is used once.
std::size_t count_found(const Changes& truth, Changes found, std::size_t margin) {
  std::size_t count = 0;
  for (const std::size_t change : truth) {
    const auto nearest =
        std::min_element(found.begin(), found.end(), [&](std::size_t one, std::size_t other) {
          return distance(one, change) < distance(other, change);
        });
    if (nearest != found.end() && distance(*nearest, change) <= margin) {
      ++count;
      found.erase(nearest);
    }
  }
  return count;
}

double compute_f1(std::span<const MarkedChanges> annotators,
                  const Changes& found,
                  std::size_t margin) {
  Changes all;
  double recall = 0.0;
  for (const MarkedChanges& annotator : annotators) {
    const Changes truth = with_start(annotator);
    all.insert(truth.begin(), truth.end());
    recall += static_cast<double>(count_found(truth, found, margin)) /
              static_cast<double>(truth.size()) / static_cast<double>(annotators.size());
  }
  const double precision =
      static_cast<double>(count_found(all, found, margin)) / static_cast<double>(found.size());
  return 2.0 * precision * recall / (precision + recall);
}

/// Returns the Jaccard index of two segments: the length of their intersection over that of their
/// union. Zero if they are disjoint.
double compute_jaccard(std::size_t begin,
                       std::size_t end,
                       std::size_t other,
                       std::size_t other_end) {
  const std::size_t first = std::max(begin, other);
  const std::size_t last = std::min(end, other_end);
  if (first >= last) {
    return 0.0;
  }
  return static_cast<double>(last - first) /
         static_cast<double>(std::max(end, other_end) - std::min(begin, other));
}

/// Returns the first points of the segments, then the length.
std::vector<std::size_t> compute_bounds(const Changes& changes, std::size_t length) {
  std::vector<std::size_t> bounds;
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(bounds), [&](std::size_t change) {
    return change < length;
  });
  bounds.push_back(length);
  return bounds;
}

double compute_cover(const Changes& truth, const Changes& found, std::size_t length) {
  const std::vector<std::size_t> segments = compute_bounds(truth, length);
  const std::vector<std::size_t> others = compute_bounds(found, length);
  double cover = 0.0;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    double best = 0.0;
    for (std::size_t k = 0; k + 1 < others.size(); ++k) {
      best =
          std::max(best, compute_jaccard(segments[i], segments[i + 1], others[k], others[k + 1]));
    }
    cover += static_cast<double>(segments[i + 1] - segments[i]) * best;
  }
  return cover / static_cast<double>(length);
}

}  // namespace

SegmentationScore score_segmentation(std::span<const MarkedChanges> annotators,
                                     const MarkedChanges& found,
                                     std::size_t length,
                                     std::size_t margin) {
  const Changes changes = with_start(found);
  SegmentationScore score;
  score.f1 = compute_f1(annotators, changes, margin);
  for (const MarkedChanges& annotator : annotators) {
    score.cover += compute_cover(with_start(annotator), changes, length) /
                   static_cast<double>(annotators.size());
  }
  return score;
}

namespace {

constexpr double kFinePenalty = 7.0;
constexpr double kMaxCorrelation = 0.95;
constexpr double kPersistence = 1.0;  // prior against noise that hardly returns: √(1 − ρ)
constexpr double kMinVariance = 1e-12;

}  // namespace

double compute_unit_penalty(std::size_t length, double correlation) {
  // Short series underestimate their correlation (Kendall, Biometrika 41, 1954: by (1 + 3ρ)/n).
  constexpr double kShortness = 50.0;
  const auto n = static_cast<double>(length);
  return std::log(n) * (1.0 + kShortness * correlation / n);
}

double compute_penalty(std::size_t length, double correlation, std::size_t steps) {
  constexpr std::size_t kFirst = 2;
  const double units = 3.0 * static_cast<double>(steps) -
                       (steps > kFirst ? 0.5 * static_cast<double>(steps - kFirst) : 0.0);
  return units * compute_unit_penalty(length, correlation);
}

double compute_confidence(double surplus) {
  constexpr double kFalseAtPenalty = 0.01;  // at most; by simulation
  return 1.0 - kFalseAtPenalty * std::exp(-std::max(surplus, 0.0) / 2.0);
}

StepPath::Model::Noise fit_noise(std::span<const double> values,
                                 const Boundaries& bounds,
                                 const StepPath::Cost& cost) {
  double square = 0.0;
  double product = 0.0;
  double last = 0.0;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    const double mean = cost.mean(bounds[k], bounds[k + 1]);
    for (std::size_t i = bounds[k]; i < bounds[k + 1]; ++i) {
      const double residual = values[i] - mean;
      square += residual * residual;
      product += residual * last;
      last = residual;
    }
  }
  const double first = values[0] - cost.mean(0, bounds[1]);
  const double first_square = first * first;
  StepPath::Model::Noise fit;
  const double earlier = square - last * last;  // of those that have a follower
  if (earlier > 0.0) {
    fit.correlation = std::clamp(product / earlier, 0.0, kMaxCorrelation);
  }
  const double rho = fit.correlation;
  // Σ (e_i − ρ e_{i−1})² and the first one, which has no neighbour (exact likelihood's weight).
  const double innovations = (square - first_square) - 2.0 * rho * product + rho * rho * earlier +
                             (1.0 - rho * rho) * first_square;
  fit.variance = std::max(innovations, kMinVariance) / static_cast<double>(values.size());
  return fit;
}

StepPath::Model score_steps(std::span<const double> values,
                            Boundaries bounds,
                            const StepPath::Cost& cost) {
  StepPath::Model model;
  model.bounds = std::move(bounds);
  model.noise = fit_noise(values, model.bounds, cost);
  const double rho = model.noise.correlation;
  // ln(1 − ρ²) belongs to the first point of an AR(1), and ln(1 − ρ) is the prior on ρ.
  model.score = static_cast<double>(values.size()) * std::log(model.noise.variance) -
                std::log(1.0 - rho * rho) - kPersistence * std::log(1.0 - rho) +
                compute_penalty(values.size(), rho, model.steps());
  return model;
}

Boundaries without(const Boundaries& bounds, std::size_t k) {
  Boundaries result(bounds);
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(k));
  return result;
}

StepPath::Model choose_steps(std::span<const double> values,
                             Boundaries fine,
                             const StepPath::Cost& cost,
                             std::vector<Boundaries>* coarse) {
  constexpr std::size_t kMaxCoarse = 6;
  StepPath::Model best;
  best.score = std::numeric_limits<double>::infinity();
  Boundaries bounds = std::move(fine);
  while (true) {
    settle_boundaries(bounds, cost);
    StepPath::Model model = score_steps(values, bounds, cost);
    if (coarse != nullptr && model.steps() <= kMaxCoarse) {
      coarse->push_back(bounds);
    }
    // A tie goes to the model with fewer levels, which comes later.
    if (model.score <= best.score) {
      best = std::move(model);
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

StepPath find_levels(std::span<const double> values) {
  const StepPath::Cost cost(values);
  StepPath path;
  path.fine = find_segments(cost, kFinePenalty);
  path.best = choose_steps(values, path.fine, cost, &path.coarse);
  return path;
}

namespace {

constexpr std::size_t kMedianReach = 5;  // the running median looks so far to both sides
constexpr double kClip = 2.5;            // deviations beyond which a value is an outlier
constexpr double kMad = 1.4826;          // median absolute deviation to standard deviation

/// Replaces one value of a sorted window by another.
void replace_sorted(std::vector<double>& window, double old, double next) {
  auto at = std::lower_bound(window.begin(), window.end(), old);
  for (; at + 1 != window.end() && *(at + 1) < next; ++at) {
    *at = *(at + 1);
  }
  for (; at != window.begin() && *(at - 1) > next; --at) {
    *at = *(at - 1);
  }
  *at = next;
}

/// Returns running medians of eleven points, of fewer at the ends. A sorted window slides over the
/// values.
std::vector<double> compute_running_median(std::span<const double> values) {
  constexpr std::size_t kWindow = 2 * kMedianReach + 1;
  std::vector<double> result(values.size());
  std::vector<double> window;
  for (std::size_t i = 0; i < values.size() + kMedianReach; ++i) {
    if (i < values.size() && i >= kWindow) {
      replace_sorted(window, values[i - kWindow], values[i]);
    } else if (i < values.size()) {
      window.insert(std::upper_bound(window.begin(), window.end(), values[i]), values[i]);
    } else if (i >= kWindow) {
      window.erase(std::lower_bound(window.begin(), window.end(), values[i - kWindow]));
    }
    if (i >= kMedianReach) {
      const std::size_t middle = window.size() / 2;
      result[i - kMedianReach] =
          window.size() % 2 == 1 ? window[middle] : (window[middle - 1] + window[middle]) / 2.0;
    }
  }
  return result;
}

/// Returns whether a value agrees with the points on one side, as the first or last of a level
/// does.
bool is_edge(std::span<const double> values, std::size_t at) {
  const auto agrees = [&](std::size_t begin) {
    std::array<double, kMedianReach> side{};
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), kMedianReach, side.begin());
    std::sort(side.begin(), side.end());
    return std::abs(side[kMedianReach / 2] - values[at]) <= kClip;
  };
  return (at >= kMedianReach && agrees(at - kMedianReach)) ||
         (at + kMedianReach < values.size() && agrees(at + 1));
}

/// Clips outliers to the neighbourhood of the running median. Runs that are long enough for a level
/// stay, and so do the ends of levels.
std::vector<double> clip(std::span<const double> values) {
  const std::vector<double> smooth = compute_running_median(values);
  std::vector<double> result(values.begin(), values.end());
  const auto side = [&](std::size_t i) {
    const double off = values[i] - smooth[i];
    return std::abs(off) <= kClip ? 0 : (off > 0.0 ? 1 : -1);
  };
  for (std::size_t i = 0; i < values.size();) {
    const int first = side(i);
    std::size_t end = i + 1;
    while (first != 0 && end < values.size() && side(end) == first) {
      ++end;
    }
    if (first != 0 && end - i < kMinSegment) {
      for (std::size_t k = i; k < end; ++k) {
        result[k] = is_edge(values, k) ? values[k] : smooth[k] + first * kClip;
      }
    }
    i = end;
  }
  return result;
}

}  // namespace

double compute_median(std::vector<double>& scratch) {
  const auto middle = scratch.begin() + static_cast<std::ptrdiff_t>(scratch.size() / 2);
  std::nth_element(scratch.begin(), middle, scratch.end());
  if (scratch.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(scratch.begin(), middle)) / 2.0;
}

double compute_median(std::span<const double> values) {
  std::vector<double> scratch(values.begin(), values.end());
  return compute_median(scratch);
}

double estimate_noise(std::span<const double> values) {
  constexpr double kKept = 0.9;  // of the differences: steps and outliers make the largest
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) {
    differences.push_back(std::abs(values[i] - values[i - 1]));
  }
  // The difference of two independent values has √2 times the deviation of one.
  const double noise = kMad * compute_median(differences) / std::sqrt(2.0);
  if (noise > 0.0) {
    return noise;
  }
  std::sort(differences.begin(), differences.end());
  differences.resize(static_cast<std::size_t>(kKept * static_cast<double>(differences.size())));
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(differences.size(), 1));
  if (mean > 0.0) {
    return mean;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / 100.0;
}

std::optional<ScaledSeries> scale_series(std::span<const double> values) {
  ScaledSeries series;
  series.values.assign(values.begin(), values.end());
  series.logarithmic = *std::min_element(values.begin(), values.end()) > 0.0;
  if (series.logarithmic) {
    std::transform(
        values.begin(), values.end(), series.values.begin(), [](double v) { return std::log(v); });
  }
  series.centre = series.values[series.values.size() / 2];
  series.noise = estimate_noise(series.values);
  if (series.noise <= 0.0) {
    return std::nullopt;
  }
  for (double& value : series.values) {
    value = (value - series.centre) / series.noise;
  }
  series.clipped = clip(series.values);
  return series;
}

}  // namespace plumb::stats
