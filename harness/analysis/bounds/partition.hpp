// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

/// One way to execute some layers: a single layer, or several fused.
struct PartitionOption {
  std::vector<model::LayerId> layers;  ///< ascending; only the last one's result is read outside;
                                       ///< views in between may be among them
  std::optional<Seconds> seconds;      ///< absent: not measured
};

/// Choice of options that executes every layer exactly once.
struct Partition {
  std::vector<std::size_t>
      chosen;           ///< indices of options, by their last layer: a topological order
  bool optimal = true;  ///< false: more than kMaxPartitionStates states, the best seen was kept
};

/// Groups of layers that only grow together (union-find with path halving).
class LayerGroups {
 public:
  /// Makes a group of each layer.
  explicit LayerGroups(std::size_t layers) : parent_(layers) {
    std::iota(parent_.begin(), parent_.end(), model::LayerId{0});
  }

  /// Returns the layer that stands for a layer's group.
  [[nodiscard]] model::LayerId root(model::LayerId layer) {
    while (parent_[layer] != layer) {
      layer = parent_[layer] = parent_[parent_[layer]];
    }
    return layer;
  }
  /// Joins the groups of two layers. The first one's root stands for both.
  void join(model::LayerId first, model::LayerId second) { parent_[root(second)] = root(first); }

 private:
  std::vector<model::LayerId> parent_;
};

/// Limit of the states of one group of overlapping options. Real networks need a few dozen.
inline constexpr std::size_t kMaxPartitionStates = 4096;

/// Finds the cheapest partition of the layers that have options. It has as few layers without a
/// time as possible, then as few seconds. Every such layer needs an option of its own, but for
/// views, which cost nothing. Options of several layers without a time are ignored.
///
/// Exact: dynamic programming over the layers in order, within each group of overlapping options.
/// The state is the set of later layers that an option has already taken. Deterministic: of equal
/// costs, the order of layers and options decides, plain layers first.
[[nodiscard]] Partition cheapest_partition(std::size_t layers,
                                           std::span<const PartitionOption> all);

/// Longest chain of options that wait for each other.
struct CriticalPath {
  Seconds length{};
  std::vector<std::size_t> options;  ///< indices, source to sink; their times add up to `length`
};

/// Finds the shortest critical path over all partitions into these options. As many options execute
/// at once as the graph allows. Layers without options take no time.
///
/// One pass in topological order. The earliest finish of a value is the minimum, over the options
/// that make it, of the latest finish of what the option reads, plus the option's time. Nothing
/// inside an option is read outside. The choices for all values therefore fit together into one
/// partition, so that the result is attained and not only a relaxation. A layer without a time is
/// free only where it is in `cover`, the cheapest partition, too. So the result never exceeds the
/// sum over `cover`.
[[nodiscard]] CriticalPath shortest_critical_path(const model::Graph& graph,
                                                  std::span<const PartitionOption> options,
                                                  const Partition& cover);

}  // namespace plumb::analysis
