// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb::stats {

/// Fewest points of a level. A shorter run at the end is a suspicion.
inline constexpr std::size_t kMinSegment = 5;

/// First points of the segments, then the length: 0, …, n.
using Boundaries = std::vector<std::size_t>;

/// Cumulative sums that give the squared error of any segment in constant time.
class SegmentCost {
 public:
  explicit SegmentCost(std::span<const double> values);

  [[nodiscard]] double operator()(std::size_t begin, std::size_t end) const {
    const double sum = sum_[end] - sum_[begin];
    return square_[end] - square_[begin] - sum * sum * inverse_[end - begin];
  }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
    return (sum_[end] - sum_[begin]) * inverse_[end - begin];
  }
  [[nodiscard]] std::size_t length() const { return sum_.size() - 1; }

 private:
  friend Boundaries find_segments(const SegmentCost& cost, double penalty);
  std::vector<double> sum_;      // of the first values, by their number
  std::vector<double> square_;   // of their squares
  std::vector<double> inverse_;  // 1 ÷ number
};

/// Returns the segments of at least five points with the least squared error plus `penalty` each.
///
/// Exact by dynamic programming (Jackson et al., IEEE Signal Processing Letters 12(2), 2005), with
/// the pruning of Killick et al. (JASA 107, 2012, §3.2). Time: quadratic in the length at worst.
[[nodiscard]] Boundaries find_segments(const SegmentCost& cost, double penalty);

/// Moves each boundary to where the error of its two segments is least, the others fixed.
void settle_boundaries(Boundaries& bounds, const SegmentCost& cost);

/// Change points that one annotator marked or a detector found. Each is the first point of a new
/// level.
using MarkedChanges = std::vector<std::size_t>;

/// Agreement of found change points with annotations, from 0 to 1 each.
struct SegmentationScore {
  double f1 = 0.0;
  double cover = 0.0;
};

/// Scores found change points as van den Burg and Williams do (arXiv 2003.06222, §4).
///
/// F1: a found change is right if an annotated one lies within `margin` points. Each annotated
/// change is used once. Precision is against all annotators together, and recall is the mean over
/// them. The first point counts as a change that every annotator marks.
///
/// Cover: the Jaccard index of each annotated segment with the found segment that fits it best,
/// weighted by length. The result is the mean over annotators. Needs an annotator and a point.
[[nodiscard]] SegmentationScore score_segmentation(std::span<const MarkedChanges> annotators,
                                                   const MarkedChanges& found,
                                                   std::size_t length,
                                                   std::size_t margin = 5);

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
