// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/bounds/partition.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

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
