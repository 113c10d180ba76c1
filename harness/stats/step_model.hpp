// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {

/// Noise of a series around its levels, with autocorrelation of the first order.
struct NoiseFit {
  double correlation = 0.0;
  double variance = 0.0;  ///< of what the neighbour does not explain
};

/// Levels of a series, their noise, and a score of how well they explain it.
struct StepModel {
  Boundaries bounds;
  NoiseFit noise;
  double score = 0.0;  ///< −2 log-likelihood plus penalties; less is better

  [[nodiscard]] std::size_t steps() const { return bounds.size() - 2; }
};

/// Returns the gain in twice the log-likelihood that a parameter found by search must bring. It is
/// ln n, and more in short autocorrelated series, which underestimate their correlation.
[[nodiscard]] double compute_unit_penalty(std::size_t length, double correlation);

/// Returns the gain that `steps` changes must bring: three units each, 2.5 from the third on. The
/// constants were set by simulation, to at most ten changes in a thousand quiet series.
/// docs/reference/change-detection.md has the rates for each kind of noise.
[[nodiscard]] double compute_penalty(std::size_t length, double correlation, std::size_t steps);

/// Returns 1 − the expected number of changes in a quiet series that explain as much. `surplus` is
/// the gain in twice the log-likelihood beyond the penalty. At the penalty the expected number is
/// 0.01.
[[nodiscard]] double compute_confidence(double surplus);

/// Fits the noise around given levels, by the exact likelihood of a stationary AR(1).
[[nodiscard]] NoiseFit fit_noise(std::span<const double> values,
                                 const Boundaries& bounds,
                                 const SegmentCost& cost);

/// Scores given levels by −2 log-likelihood plus penalties.
[[nodiscard]] StepModel score_steps(std::span<const double> values,
                                    Boundaries bounds,
                                    const SegmentCost& cost);

/// Removes boundaries from `fine`, the weakest first, until none is left, and returns the best
/// model seen. The weakest boundary is the one that explains least. `coarse` receives the models of
/// six steps or fewer, finest first.
[[nodiscard]] StepModel choose_steps(std::span<const double> values,
                                     Boundaries fine,
                                     const SegmentCost& cost,
                                     std::vector<Boundaries>* coarse = nullptr);

/// Levels chosen for a series, with the coarser and finer ones that they were chosen from.
struct StepPath {
  Boundaries fine;                 ///< finer than any model will be
  std::vector<Boundaries> coarse;  ///< six steps or fewer, finest first, none last
  StepModel best;
};

/// Segments a series finely and chooses its levels.
[[nodiscard]] StepPath find_levels(std::span<const double> values);

/// Returns the boundaries without the k-th.
[[nodiscard]] Boundaries without(const Boundaries& bounds, std::size_t k);

}  // namespace plumb::stats
