// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace plumb::stats {
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
