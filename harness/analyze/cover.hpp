// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph.hpp"

namespace plumb {

/// One way to execute some layers together: a layer by itself, or several fused.
struct CoverOption {
  std::vector<LayerId> layers;     ///< ascending; the last one makes the only value that leaves
  std::optional<Seconds> seconds;  ///< absent: not measured
};

/// Choice of options that executes every layer exactly once.
struct Cover {
  std::vector<std::size_t>
      chosen;           ///< indices of options, by their last layer: a topological order
  bool optimal = true;  ///< false: more than kCoverStates states, the best seen was kept
};

/// Bounds the work on one group of overlapping options; real networks need a few dozen.
inline constexpr std::size_t kCoverStates = 4096;

/// Finds the cheapest exact cover of the layers for which there are options: first as few layers
/// without a time as possible, then as few seconds. Every such layer needs an option of its own;
/// options of several layers without a time are ignored.
///
/// Exact: dynamic programming over the layers in order, the state being what later layers an option
/// already took, within each group of options that overlap. Deterministic: equal costs are decided
/// by the order of layers and options, plain layers first.
[[nodiscard]] Cover cheapest_cover(std::size_t layers, std::span<const CoverOption> options);

}  // namespace plumb
