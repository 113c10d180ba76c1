// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/variance_changes.hpp"

#include <algorithm>
#include <cmath>

namespace plumb::stats {
namespace {

/// Returns the squares around the levels, summed up to each point.
std::vector<double> sum_squares(std::span<const double> values, const Boundaries& levels) {
  const SegmentCost cost(values);
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

}  // namespace

std::vector<VarianceStep> find_variance_steps(std::span<const double> values,
                                              const Boundaries& levels) {
  return Search(sum_squares(values, levels)).run();
}

}  // namespace plumb::stats
