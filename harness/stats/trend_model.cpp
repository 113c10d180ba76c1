// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {
namespace {

constexpr std::array<std::size_t, 3> kDegrees{1, 3, 5};
constexpr std::size_t kMaxDegree = kDegrees.back();

using Row = std::array<double, kMaxDegree>;

/// Returns the Legendre polynomials from degree 1 at a point of a series of `length` points. Uses
/// Bonnet's recursion.
Row compute_basis(std::size_t point, std::size_t length, std::size_t degree) {
  const double t = 2.0 * static_cast<double>(point) / static_cast<double>(length - 1) - 1.0;
  Row row{t};
  double before = 1.0;
  for (std::size_t k = 1; k < degree; ++k) {
    const auto order = static_cast<double>(k);
    row[k] = ((2.0 * order + 1.0) * t * row[k - 1] - order * before) / (order + 1.0);
    before = row[k - 1];
  }
  return row;
}

/// Solves a symmetric positive system in place by elimination. A row without a pivot gives zero.
void solve(std::array<Row, kMaxDegree>& matrix, Row& right, std::size_t size) {
  constexpr double kPivot = 1e-9;
  for (std::size_t k = 0; k < size; ++k) {
    if (matrix[k][k] < kPivot) {
      matrix[k].fill(0.0);
      matrix[k][k] = 1.0;
      right[k] = 0.0;
    }
    for (std::size_t i = k + 1; i < size; ++i) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j < size; ++j) {
        matrix[i][j] -= factor * matrix[k][j];
      }
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = size; k-- > 0;) {
    for (std::size_t j = k + 1; j < size; ++j) {
      right[k] -= matrix[k][j] * right[j];
    }
    right[k] /= matrix[k][k];
  }
}

/// Fits a polynomial beside given levels, by least squares within the segments.
std::vector<double> fit_trend(std::span<const double> values,
                              const Boundaries& bounds,
                              std::size_t degree) {
  std::array<Row, kMaxDegree> matrix{};
  Row right{};
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    Row sums{};
    double sum = 0.0;
    for (std::size_t i = bounds[k]; i < bounds[k + 1]; ++i) {
      const Row row = compute_basis(i, values.size(), degree);
      sum += values[i];
      for (std::size_t a = 0; a < degree; ++a) {
        sums[a] += row[a];
        right[a] += row[a] * values[i];
        for (std::size_t b = 0; b <= a; ++b) {
          matrix[a][b] += row[a] * row[b];
        }
      }
    }
    // Centred in each segment: what the level explains must not bend the trend.
    const auto count = static_cast<double>(bounds[k + 1] - bounds[k]);
    for (std::size_t a = 0; a < degree; ++a) {
      right[a] -= sums[a] * sum / count;
      for (std::size_t b = 0; b <= a; ++b) {
        matrix[a][b] -= sums[a] * sums[b] / count;
      }
    }
  }
  for (std::size_t a = 0; a < degree; ++a) {
    for (std::size_t b = a + 1; b < degree; ++b) {
      matrix[a][b] = matrix[b][a];
    }
  }
  solve(matrix, right, degree);
  std::vector<double> trend(values.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Row row = compute_basis(i, values.size(), degree);
    for (std::size_t a = 0; a < degree; ++a) {
      trend[i] += right[a] * row[a];
    }
  }
  return trend;
}

std::vector<double> subtract(std::span<const double> values, std::span<const double> trend) {
  std::vector<double> result(values.begin(), values.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] -= trend[i];
  }
  return result;
}

double trend_penalty(std::size_t length, const StepPath::Model::Noise& noise, std::size_t degree) {
  return compute_unit_penalty(length, noise.correlation) * (1.0 + static_cast<double>(degree));
}

/// Scores a trend fitted beside given levels.
StepPath::Trend score_trend(std::span<const double> values,
                            const Boundaries& bounds,
                            std::size_t degree) {
  StepPath::Trend model;
  model.trend = fit_trend(values, bounds, degree);
  model.degree = degree;
  const std::vector<double> rest = subtract(values, model.trend);
  model.steps = score_steps(rest, bounds, StepPath::Cost(rest));
  model.steps.score += trend_penalty(values.size(), model.steps.noise, degree);
  return model;
}

/// Chooses levels on top of a trend, then the trend beside these levels, until neither improves.
StepPath::Trend improve(std::span<const double> values,
                        const Boundaries& fine,
                        StepPath::Trend best,
                        std::size_t degree) {
  constexpr int kMaxTurns = 4;
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    const std::vector<double> rest = subtract(values, best.trend);
    const StepPath::Model steps = choose_steps(rest, fine, StepPath::Cost(rest));
    if (steps.bounds == best.steps.bounds) {
      return best;
    }
    StepPath::Trend next = score_trend(values, steps.bounds, degree);
    if (next.steps.score >= best.steps.score) {
      return best;
    }
    best = std::move(next);
  }
  return best;
}

}  // namespace

StepPath::Trend choose_trend(std::span<const double> values, const StepPath& levels) {
  constexpr std::size_t kMaxStart = 3;   // levels of the models that a trend is first tried with
  constexpr std::size_t kManySteps = 3;  // from here on a trend below them may be hidden
  const StepPath::Model& plain = levels.best;
  StepPath::Trend best{plain, {}, 0, 0.0};
  for (const std::size_t degree : kDegrees) {
    // A fifth degree is for curves that a third one fits already, or for many steps.
    if (degree == kMaxDegree && best.degree != kDegrees[1] && plain.steps() < kManySteps) {
      break;
    }
    StepPath::Trend start = score_trend(values, plain.bounds, degree);
    for (const Boundaries& bounds : levels.coarse) {
      if (bounds.size() - 2 < std::min(kMaxStart, plain.steps())) {
        StepPath::Trend model = score_trend(values, bounds, degree);
        if (model.steps.score < start.steps.score) {
          start = std::move(model);
        }
      }
    }
    if (start.steps.score < plain.score || plain.steps() >= kManySteps) {
      start = improve(values, levels.fine, std::move(start), degree);
    }
    if (start.steps.score < best.steps.score) {
      best = std::move(start);
    }
  }
  best.surplus = plain.score - best.steps.score;
  return best;
}

namespace {

constexpr std::array kGains{0.1, 0.2, 0.35, 0.6, 1.0};
constexpr double kParameters = 3.0;  // the first level, the gain and the drift
constexpr double kMinVariance = 1e-12;

/// Returns the errors of predicting each value by smoothing all before it. The first level is the
/// mean of the first values, less the drift.
std::vector<double> compute_innovations(std::span<const double> values, double gain, double drift) {
  std::vector<double> innovations;
  double level = 0.0;
  for (std::size_t i = 0; i < kMinSegment; ++i) {
    level += (values[i] - drift * static_cast<double>(i)) / static_cast<double>(kMinSegment);
  }
  for (const double value : values) {
    innovations.push_back(value - level);
    level += gain * innovations.back() + drift;
  }
  return innovations;
}

double sum_squares(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value * value;
  }
  return sum;
}

}  // namespace

WanderModel fit_wander(std::span<const double> values) {
  const std::size_t n = values.size();
  const auto length = static_cast<double>(n);
  const double unit = compute_unit_penalty(n, 0.0);
  const double drift = (values.back() - values.front()) / (length - 1.0);
  std::vector<double> innovations;
  double gain = 0.0;
  double square = std::numeric_limits<double>::infinity();
  for (const double candidate : kGains) {
    for (const double slope : {0.0, drift}) {
      std::vector<double> errors = compute_innovations(values, candidate, slope);
      const double sum = sum_squares(errors);
      if (sum < square) {
        square = sum;
        gain = candidate;
        innovations = std::move(errors);
      }
    }
  }
  WanderModel model;
  const double decay = 1.0 - gain;
  const double norm = 1.0 - decay * decay;
  std::vector<char> taken(n, 0);
  while (true) {
    // What a jump at each point explains. Its response decays, because the smoothing follows it.
    double response = 0.0;
    double most = 0.0;
    double size = 0.0;
    std::size_t index = 0;
    for (std::size_t i = n; i-- > kMinSegment;) {
      response = innovations[i] + decay * response;
      const double explained = response * response * norm;
      if (explained > most && taken[i] == 0 && i + kMinSegment <= n) {
        most = explained;
        size = response * norm;
        index = i;
      }
    }
    const double rest = std::max(square - most, kMinVariance);
    const double improved = length * std::log(std::max(square, kMinVariance) / rest) - 3.0 * unit;
    if (index == 0 || improved <= 0.0) {
      break;
    }
    model.jumps.push_back({index, improved});
    double left = size;
    for (std::size_t i = index; i < n; ++i, left *= decay) {
      innovations[i] -= left;
    }
    square = sum_squares(innovations);
    const std::size_t first = index - kMinSegment + 1;
    for (std::size_t i = first; i < std::min(n, index + kMinSegment); ++i) {
      taken[i] = 1;
    }
  }
  std::sort(model.jumps.begin(),
            model.jumps.end(),
            [](const WanderModel::Jump& one, const WanderModel::Jump& other) {
              return one.index < other.index;
            });
  model.score = length * std::log(std::max(square, kMinVariance) / length) +
                unit * (kParameters + 3.0 * static_cast<double>(model.jumps.size()));
  return model;
}

}  // namespace plumb::stats
