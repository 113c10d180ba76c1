// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/analysis/bounds/single_layer.hpp"

namespace plumb::analysis {

/// One layer at three extents or more. A cliff is a rate that falls where the work grows.
struct RateCliff {
  /// Rate of a layer, at the extent by which its key differs from others.
  struct Point {
    std::int64_t extent = 0;
    double macs_per_second = 0.0;
    const SingleLayerResult* layer = nullptr;
  };

  std::vector<Point> points;  ///< extents ascending

  /// Returns the smallest ratio of a rate to the one before it. Below 1, the rate falls.
  [[nodiscard]] double steepest() const;
};

/// Finds the layers with a time whose keys differ in one extent only, wherever it stands in the
/// key, the steepest first. They refer to the layers.
[[nodiscard]] std::vector<RateCliff> find_cliffs(std::span<const SingleLayerResult> layers);

}  // namespace plumb::analysis
