// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_input.hpp"

#include "harness/rewrite/typed_graph.hpp"

namespace plumb::analysis {

const model::Graph& WhatIfInput::graph_in(std::string_view type) const {
  if (type.empty()) {
    return graph;
  }
  const auto found = typed_.find(type);
  return found != typed_.end()
             ? found->second
             : typed_.emplace(std::string(type), rewrite::typed_graph(graph, type)).first->second;
}

const ModelPartition& WhatIfInput::partition_in(std::string_view type, PartitionMode mode) const {
  const std::pair key(std::string(type), mode);
  const auto found = partitions_.find(key);
  return found != partitions_.end()
             ? found->second
             : partitions_.emplace(key, partition_model(graph_in(type), results, mode))
                   .first->second;
}

}  // namespace plumb::analysis
