// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/change_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/stats/segmentation.hpp"

namespace plumb::stats {
namespace {

/// One change of the variance of a series less its levels.
struct VarianceStep {
  std::size_t index = 0;
  double before = 0.0;  ///< standard deviations
  double after = 0.0;
  double surplus = 0.0;  ///< gain in twice the log-likelihood, less the penalty
};

/// Returns the squares around the levels, summed up to each point.
std::vector<double> sum_squares(std::span<const double> values, const Boundaries& levels) {
  const StepPath::Cost cost(values);
  std::vector<double> sums{0.0};
  for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
    const double mean = cost.mean(levels[k], levels[k + 1]);
    for (std::size_t i = levels[k]; i < levels[k + 1]; ++i) {
      sums.push_back(sums.back() + (values[i] - mean) * (values[i] - mean));
    }
  }
  return sums;
}

class Search {
 public:
  explicit Search(std::vector<double> sums) : sums_(std::move(sums)) {}

  std::vector<VarianceStep> run() {
    split(0, sums_.size() - 1);
    return std::move(steps_);
  }

 private:
  [[nodiscard]] double variance(std::size_t begin, std::size_t end) const {
    constexpr double kMinVariance = 1e-6;
    return std::max((sums_[end] - sums_[begin]) / static_cast<double>(end - begin), kMinVariance);
  }
  [[nodiscard]] double likelihood(std::size_t begin, std::size_t end) const {
    return -static_cast<double>(end - begin) * std::log(variance(begin, end));
  }

  void split(std::size_t begin, std::size_t end) {
    constexpr std::size_t kMinPoints = 10;
    constexpr double kMinRatio = 1.25;
    double most = 0.0;
    std::size_t index = 0;
    const double whole = likelihood(begin, end);
    for (std::size_t at = begin + kMinPoints; at + kMinPoints <= end; ++at) {
      const double gain = likelihood(begin, at) + likelihood(at, end) - whole;
      if (gain > most) {
        most = gain;
        index = at;
      }
    }
    const double surplus = most - compute_penalty(sums_.size() - 1, 0.0, 1);
    if (index == 0 || surplus <= 0.0) {
      return;
    }
    const double before = std::sqrt(variance(begin, index));
    const double after = std::sqrt(variance(index, end));
    if (std::max(before, after) < kMinRatio * std::min(before, after)) {
      return;
    }
    split(begin, index);
    steps_.push_back({index, before, after, surplus});
    split(index, end);
  }

  std::vector<double> sums_;
  std::vector<VarianceStep> steps_;
};

/// Finds where the variance of values around given levels changed. The method is binary
/// segmentation of the normal likelihood (Chen and Gupta, JASA 92, 1997). Segments have at least
/// ten points. The deviations of neighbours differ by a factor of at least 1.25.
std::vector<VarianceStep> find_variance_steps(std::span<const double> values,
                                              const Boundaries& levels) {
  return Search(sum_squares(values, levels)).run();
}

/// Compares the last one to four points, too few for a level, with the points since `begin`.
/// Returns the first of them if they are off by 3.4 standard errors, one alone by five deviations.
///
/// The method is generalised least squares: of autocorrelated noise only the innovations are new
/// information. A step appears whole in its first innovation, and by a share of 1 − ρ in each later
/// one.
std::optional<std::size_t> find_suspicion(std::span<const double> values,
                                          std::size_t begin,
                                          const StepPath::Model::Noise& noise) {
  constexpr double kOutlier = 4.0;     // deviations that one point may count at most
  constexpr double kSingle = 5.0;      // deviations that make one point alone suspicious
  constexpr double kSuspicious = 3.4;  // standard errors
  const double rho = noise.correlation;
  const double innovation = std::sqrt(noise.variance);
  const double deviation = innovation / std::sqrt(1.0 - rho * rho);
  std::optional<std::size_t> index;
  double most = kSuspicious;
  for (std::size_t count = 1; count < kMinSegment; ++count) {
    if (begin + kMinSegment + count > values.size()) {
      break;
    }
    const std::size_t split = values.size() - count;
    const double level = compute_median(values.subspan(begin, split - begin));
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

/// Points of a series that are present.
struct PresentPoints {
  std::vector<double> values;
  std::vector<std::size_t> indices;  // in the series as given
};

PresentPoints read_present(std::span<const double> values) {
  PresentPoints present;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(values[i])) {
      throw Error(Error::Kind::kUser,
                  fmt::format("value {} of the series is infinite; write a point that is missing "
                              "as null",
                              i));
    }
    if (!std::isnan(values[i])) {
      present.values.push_back(values[i]);
      present.indices.push_back(i);
    }
  }
  return present;
}

/// Search for the changes of one series.
class Judgement {
 public:
  Judgement(std::span<const double> values, const ScaledSeries& scaled)
      : values_(values), scaled_(scaled), levels_(find_levels(scaled.clipped)) {}

  Detection judge(bool variance) {
    Detection result;
    // First, because jumps between two states are noise, and steps would explain them too.
    if (auto changes = find_two_state_changes(values_, scaled_, levels_)) {
      model_.steps = levels_.best;
      result = std::move(*changes);
    } else {
      model_ = choose_trend(scaled_.clipped, levels_);
      // A constant series needs no further model. Any other may wander instead, if that scores
      // better.
      const bool plain = model_.steps.steps() == 0 && model_.trend.empty();
      const WanderModel wander = plain ? WanderModel{} : fit_wander(scaled_.clipped);
      if (!plain && wander.score < model_.steps.score) {
        add_jumps(wander, result);
      } else {
        add_steps(result);
      }
      add_creep(result);
      add_suspicion(result);
    }
    if (variance) {
      result.variance_changes.emplace();
      for (const VarianceStep& step :
           find_variance_steps(without_trend(scaled_.clipped), model_.steps.bounds)) {
        result.variance_changes->push_back({.index = step.index,
                                            .before = scaled_.noise * step.before,
                                            .after = scaled_.noise * step.after,
                                            .confidence = compute_confidence(step.surplus)});
      }
    }
    return result;
  }

 private:
  /// Returns the level of a segment in the unit of the series. With a trend it is the level at
  /// point `at`.
  [[nodiscard]] double level(std::size_t begin, std::size_t end, std::size_t at) const {
    if (model_.trend.empty()) {
      return compute_median(values_.subspan(begin, end - begin));
    }
    std::vector<double> rest;
    for (std::size_t i = begin; i < end; ++i) {
      rest.push_back(scaled_.values[i] - model_.trend[i]);
    }
    return unscale(compute_median(rest) + model_.trend[at]);
  }

  [[nodiscard]] double unscale(double value) const {
    const double plain = scaled_.centre + scaled_.noise * value;
    return scaled_.logarithmic ? std::exp(plain) : plain;
  }

  [[nodiscard]] std::vector<double> without_trend(std::span<const double> values) const {
    std::vector<double> rest(values.begin(), values.end());
    for (std::size_t i = 0; i < model_.trend.size(); ++i) {
      rest[i] -= model_.trend[i];
    }
    return rest;
  }

  void add_steps(Detection& result) const {
    const Boundaries& bounds = model_.steps.bounds;
    const std::vector<double> rest = without_trend(scaled_.clipped);
    const StepPath::Cost cost(rest);
    const double score = score_steps(rest, bounds, cost).score;
    for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
      const double surplus = score_steps(rest, without(bounds, k), cost).score - score;
      result.change_points.push_back({.index = bounds[k],
                                      .before = level(bounds[k - 1], bounds[k], bounds[k]),
                                      .after = level(bounds[k], bounds[k + 1], bounds[k]),
                                      .confidence = compute_confidence(surplus)});
    }
  }

  void add_jumps(const WanderModel& wander, Detection& result) const {
    constexpr std::size_t kReach = 10;  // points that show the level beside a jump
    for (std::size_t k = 0; k < wander.jumps.size(); ++k) {
      const auto& [index, gain] = wander.jumps[k];
      const std::size_t begin =
          std::max(index < kReach ? 0 : index - kReach, k == 0 ? 0 : wander.jumps[k - 1].index);
      const std::size_t end = std::min(
          index + kReach, k + 1 < wander.jumps.size() ? wander.jumps[k + 1].index : values_.size());
      result.change_points.push_back(
          {.index = index,
           .before = compute_median(values_.subspan(begin, index - begin)),
           .after = compute_median(values_.subspan(index, end - index)),
           .confidence = compute_confidence(gain)});
    }
  }

  void add_creep(Detection& result) const {
    if (model_.trend.empty()) {
      return;
    }
    const Boundaries& bounds = model_.steps.bounds;
    Detection::Trend creep;
    creep.before = level(0, bounds[1], 0);
    creep.after = level(0, bounds[1], values_.size() - 1);
    creep.slope = (creep.after - creep.before) / static_cast<double>(values_.size() - 1);
    creep.confidence = compute_confidence(model_.surplus);
    result.creep = creep;
  }

  void add_suspicion(Detection& result) const {
    const std::vector<double> clipped = without_trend(scaled_.clipped);
    const std::size_t begin = model_.steps.bounds[model_.steps.bounds.size() - 2];
    Boundaries earlier(model_.steps.bounds);  // the last points must not vouch for themselves
    earlier.back() -= kMinSegment - 1;
    const std::span<const double> known(clipped.data(), earlier.back());
    const StepPath::Model::Noise noise = fit_noise(known, earlier, StepPath::Cost(clipped));
    if (const auto tail = find_suspicion(without_trend(scaled_.values), begin, noise)) {
      result.suspicions.push_back({.index = *tail,
                                   .before = level(begin, *tail, *tail),
                                   .after = level(*tail, values_.size(), *tail)});
    }
  }

  std::span<const double> values_;
  const ScaledSeries& scaled_;
  StepPath levels_;
  StepPath::Trend model_;
};

/// Replaces indices of present points by indices of the series as given.
template <typename Changes>
void restore_indices(Changes& changes, const std::vector<std::size_t>& indices) {
  for (auto& change : changes) {
    change.index = indices[change.index];
  }
}

}  // namespace

Detection detect_changes(std::span<const double> values, bool variance) {
  const PresentPoints present = read_present(values);
  const auto scaled =
      present.values.size() < 2 * kMinSegment ? std::nullopt : scale_series(present.values);
  if (!scaled) {
    Detection quiet;
    if (variance) {
      quiet.variance_changes.emplace();
    }
    return quiet;
  }
  Detection result = Judgement(present.values, *scaled).judge(variance);
  restore_indices(result.change_points, present.indices);
  restore_indices(result.suspicions, present.indices);
  restore_indices(result.state_changes, present.indices);
  if (result.variance_changes) {
    restore_indices(*result.variance_changes, present.indices);
  }
  return result;
}

}  // namespace plumb::stats
