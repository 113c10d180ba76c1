// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/segmentation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace plumb::stats {

SegmentCost::SegmentCost(std::span<const double> values) {
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

Boundaries find_segments(const SegmentCost& cost, double penalty) {
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

void settle_boundaries(Boundaries& bounds, const SegmentCost& cost) {
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

NoiseFit fit_noise(std::span<const double> values,
                   const Boundaries& bounds,
                   const SegmentCost& cost) {
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
  NoiseFit fit;
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

StepModel score_steps(std::span<const double> values, Boundaries bounds, const SegmentCost& cost) {
  StepModel model;
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

StepModel choose_steps(std::span<const double> values,
                       Boundaries fine,
                       const SegmentCost& cost,
                       std::vector<Boundaries>* coarse) {
  constexpr std::size_t kMaxCoarse = 6;
  StepModel best;
  best.score = std::numeric_limits<double>::infinity();
  Boundaries bounds = std::move(fine);
  while (true) {
    settle_boundaries(bounds, cost);
    StepModel model = score_steps(values, bounds, cost);
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
  const SegmentCost cost(values);
  StepPath path;
  path.fine = find_segments(cost, kFinePenalty);
  path.best = choose_steps(values, path.fine, cost, &path.coarse);
  return path;
}

}  // namespace plumb::stats
