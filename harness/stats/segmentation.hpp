// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// Fewest points of a level. A shorter run at the end is a suspicion.
inline constexpr std::size_t kMinSegment = 5;

/// First points of the segments, then the length: 0, …, n.
using Boundaries = std::vector<std::size_t>;

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

/// Levels chosen for a series, with the coarser and finer ones that they were chosen from.
struct StepPath {
  /// Cumulative sums that give the squared error of any segment in constant time.
  class Cost {
   public:
    explicit Cost(std::span<const double> values);

    [[nodiscard]] double operator()(std::size_t begin, std::size_t end) const {
      const double sum = sum_[end] - sum_[begin];
      return square_[end] - square_[begin] - sum * sum * inverse_[end - begin];
    }
    [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
      return (sum_[end] - sum_[begin]) * inverse_[end - begin];
    }
    [[nodiscard]] std::size_t length() const { return sum_.size() - 1; }

   private:
    friend Boundaries find_segments(const Cost& cost, double penalty);
    std::vector<double> sum_;      // of the first values, by their number
    std::vector<double> square_;   // of their squares
    std::vector<double> inverse_;  // 1 ÷ number
  };

  /// Levels of a series, their noise, and a score of how well they explain it.
  struct Model {
    /// Noise of a series around its levels, with autocorrelation of the first order.
    struct Noise {
      double correlation = 0.0;
      double variance = 0.0;  ///< of what the neighbour does not explain
    };

    Boundaries bounds;
    Noise noise;
    double score = 0.0;  ///< −2 log-likelihood plus penalties; less is better

    [[nodiscard]] std::size_t steps() const { return bounds.size() - 2; }
  };

  /// Levels of a series on top of a smooth trend.
  struct Trend {
    Model steps;                ///< of the values less the trend; its score includes the trend
    std::vector<double> trend;  ///< by point, around zero; empty: none
    std::size_t degree = 0;
    double surplus = 0.0;  ///< gain of the trend over the levels alone
  };

  Boundaries fine;                 ///< finer than any model will be
  std::vector<Boundaries> coarse;  ///< six steps or fewer, finest first, none last
  Model best;
};

/// Returns the segments of at least five points with the least squared error plus `penalty` each.
///
/// Exact by dynamic programming (Jackson et al., IEEE Signal Processing Letters 12(2), 2005), with
/// the pruning of Killick et al. (JASA 107, 2012, §3.2). Time: quadratic in the length at worst.
[[nodiscard]] Boundaries find_segments(const StepPath::Cost& cost, double penalty);

/// Moves each boundary to where the error of its two segments is least, the others fixed.
void settle_boundaries(Boundaries& bounds, const StepPath::Cost& cost);

/// Fits the noise around given levels, by the exact likelihood of a stationary AR(1).
[[nodiscard]] StepPath::Model::Noise fit_noise(std::span<const double> values,
                                               const Boundaries& bounds,
                                               const StepPath::Cost& cost);

/// Scores given levels by −2 log-likelihood plus penalties.
[[nodiscard]] StepPath::Model score_steps(std::span<const double> values,
                                          Boundaries bounds,
                                          const StepPath::Cost& cost);

/// Removes boundaries from `fine`, the weakest first, until none is left, and returns the best
/// model seen. The weakest boundary is the one that explains least. `coarse` receives the models of
/// six steps or fewer, finest first.
[[nodiscard]] StepPath::Model choose_steps(std::span<const double> values,
                                           Boundaries fine,
                                           const StepPath::Cost& cost,
                                           std::vector<Boundaries>* coarse = nullptr);

/// Segments a series finely and chooses its levels.
[[nodiscard]] StepPath find_levels(std::span<const double> values);

/// Returns the boundaries without the k-th.
[[nodiscard]] Boundaries without(const Boundaries& bounds, std::size_t k);

/// Returns the median of `scratch`, which is reordered and must not be empty.
[[nodiscard]] double compute_median(std::vector<double>& scratch);
[[nodiscard]] double compute_median(std::span<const double> values);

/// Returns the standard deviation of independent noise, from the median difference of neighbours.
/// Steps hardly change that median. Where most neighbours are equal, it is the mean of all but the
/// largest tenth of the differences, or else a hundredth of the range. Zero: all values are equal.
/// Needs two values.
[[nodiscard]] double estimate_noise(std::span<const double> values);

/// One series made comparable: shifted to its middle point, divided by its noise, outliers clipped.
struct ScaledSeries {
  std::vector<double> values;  ///< (ln value − centre) ÷ noise; without ln if one is not positive
  std::vector<double> clipped;  ///< the same without outliers
  bool logarithmic = false;
  double centre = 0.0;
  double noise = 0.0;
};

/// Scales a series. Absent: it is constant. A value beyond 2.5 deviations of the running median of
/// eleven points is an outlier, and is clipped to 2.5. Five or more such neighbours on the same
/// side are a level and stay. So does a value that agrees with the five points on one side of it.
[[nodiscard]] std::optional<ScaledSeries> scale_series(std::span<const double> values);

/// Chooses among levels, a trend, and levels on a trend, by penalised likelihood.
///
/// A trend is a polynomial of degree 1, 3 or 5, so that a drift or a smooth curve is not fitted by
/// a staircase of levels. It costs two units of penalty, and one more for each further degree.
/// Levels and trend are fitted alternately.
[[nodiscard]] StepPath::Trend choose_trend(std::span<const double> values, const StepPath& levels);

/// Level that moves at random, observed with noise, and its jumps.
struct WanderModel {
  /// One jump of a level that also wanders.
  struct Jump {
    std::size_t index = 0;
    double gain = 0.0;  ///< in twice the log-likelihood, less the penalty
  };

  std::vector<Jump> jumps;  ///< ascending
  double score = 0.0;       ///< comparable with StepPath::Model::score
};

/// Fits a local level with drift by exponential smoothing, and adds jumps to it. The innovations of
/// the smoothing are the noise (Muth, JASA 55, 1960). The jump that explains most comes first. A
/// jump is at least five points from the next and from the ends.
[[nodiscard]] WanderModel fit_wander(std::span<const double> values);

}  // namespace plumb::stats
