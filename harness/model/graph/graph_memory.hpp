// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::model {

/// Memory that executing a graph's layers in their order needs at least.
///
/// A view shares the bytes of what it views, and an update writes over its operands. Any other
/// result has bytes of its own, from its layer to its last reader. What a library adds, such as
/// blocked layouts, copies in them and workspaces, is not in it.
struct GraphMemory {
  Bytes inputs;     ///< of a step of training: also weights and states
  Bytes constants;  ///< that layers read, as the graph has them
  Bytes peak;       ///< the most bytes of results at once

  [[nodiscard]] Bytes total() const { return inputs + constants + peak; }
};
[[nodiscard]] GraphMemory compute_memory(const Graph& graph);

/// Returns for each value the one whose bytes it shares: itself, or what views and updates made it
/// of.
[[nodiscard]] std::vector<ValueId> shared_bytes(const Graph& graph);

}  // namespace plumb::model
