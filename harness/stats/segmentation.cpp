// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/segmentation.hpp"

#include <algorithm>
#include <limits>

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

}  // namespace plumb::stats
