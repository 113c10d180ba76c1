// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::analysis {

/// Latency of one model in one mode against its batch.
struct BatchCurve {
  /// Time of a model at one batch.
  struct Point {
    std::int64_t batch = 1;
    Seconds seconds{};
    measure::Interval interval{};

    [[nodiscard]] double throughput() const { return static_cast<double>(batch) / seconds.count(); }
  };

  std::string model;
  std::string dtype;
  std::map<std::string, std::int64_t> dims;
  std::string mode;
  std::vector<Point> points;         ///< three at least, batches ascending
  std::optional<std::int64_t> knee;  ///< absent: the highest throughput is at the largest batch,
                                     ///< and no smaller one comes near
};

/// Captured graphs of one model, one for each shape that was executed.
struct CapturedGraphs {
  std::string model;
  std::string dtype;
  std::size_t graphs = 0;
  Bytes memory;     ///< of all their plans, without what the driver holds for a graph
  Seconds saved{};  ///< eager less captured, one execution of each
};

/// Share of the highest throughput from which a batch is good enough: the smallest such batch is
/// the knee.
inline constexpr double kKneeShare = 0.9;

/// Returns a curve for each model and mode that was executed at three batches or more.
[[nodiscard]] std::vector<BatchCurve> compute_batch_curves(std::span<const ModelBounds> models);

/// Adds up the captured graphs of each model that was executed both `captured` and `eager`.
[[nodiscard]] std::vector<CapturedGraphs> sum_captured_graphs(std::span<const ModelBounds> models);

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
