// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb {

/// Readers of each value of a graph. It refers to the graph, which must outlive it.
class ValueUses {
 public:
  explicit ValueUses(const Graph& graph);

  /// Returns the layers that read a value, once for every operand that does.
  [[nodiscard]] std::span<const LayerId> readers(ValueId value) const;
  /// Returns the reader of a value that is read exactly once and is not an output of the model.
  [[nodiscard]] std::optional<LayerId> only_reader(ValueId value) const;
  /// Returns whether one layer that yields only `result` can replace `layers`. No other value that
  /// they make may be read outside, or be an output of the model.
  [[nodiscard]] bool closed(std::span<const LayerId> layers, ValueId result) const;

 private:
  const Graph* graph_;
  std::vector<std::size_t> first_;  ///< of readers_, by value; one more at the end
  std::vector<LayerId> readers_;
  std::vector<bool> is_output_;
};

}  // namespace plumb
