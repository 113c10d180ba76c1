// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/cover.hpp"
#include "harness/model/graph.hpp"

namespace plumb {

/// Longest chain of options that wait for each other.
struct CriticalPath {
  Seconds length{};
  std::vector<std::size_t> options;  ///< indices, source to sink; their times add up to `length`
};

/// Finds the shortest critical path that any cover by these options has, with as many executions at
/// once as the graph allows. Layers without options take no time.
///
/// One pass in topological order: the earliest finish of a value is the least, over the options
/// that make it, of the latest finish of what the option reads, plus its time. Since nothing inside
/// an option is read outside, the choices for all values fit together into one cover, so that the
/// result is attained and is no relaxation. A layer without a time is passed free only where
/// `cover` (the cheapest one) passes it too: the result never exceeds the sum over `cover`.
[[nodiscard]] CriticalPath shortest_critical_path(const Graph& graph,
                                                  std::span<const CoverOption> options,
                                                  const Cover& cover);

}  // namespace plumb
