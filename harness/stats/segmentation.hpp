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

}  // namespace plumb::stats
