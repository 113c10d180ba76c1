// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Readers of each value of a graph. It refers to the graph, which must outlive it.
class ValueUses {
 public:
  explicit ValueUses(const model::Graph& graph);

  /// Returns the layers that read a value, once for every operand that does.
  [[nodiscard]] std::span<const model::LayerId> readers(model::ValueId value) const;
  /// Returns the reader of a value that is read exactly once and is not an output of the model.
  [[nodiscard]] std::optional<model::LayerId> only_reader(model::ValueId value) const;
  /// Returns whether one layer that yields only `results` can replace `layers`, in the place of the
  /// last of them. No other value that they make may be read outside, or be an output of the model.
  /// No layer outside that stands before that place may read a result, but for views.
  [[nodiscard]] bool closed(std::span<const model::LayerId> layers,
                            std::span<const model::ValueId> results) const;

 private:
  [[nodiscard]] bool read_before(model::ValueId value,
                                 model::LayerId place,
                                 std::span<const model::LayerId> inside) const;

  const model::Graph* graph_;
  std::vector<std::size_t> first_;  ///< of readers_, by value; one more at the end
  std::vector<model::LayerId> readers_;
  std::vector<bool> is_output_;
};

}  // namespace plumb::rewrite
