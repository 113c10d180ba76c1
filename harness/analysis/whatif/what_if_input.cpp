// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_input.hpp"

#include "harness/rewrite/types/typed_graph.hpp"

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

std::string WhatIfInput::why_no_branches() const {
  // A device has streams for branches, whatever the threads of its worker.
  const bool one_thread = scaling != nullptr && scaling->processors() < 2;
  return one_thread && !on_device.value_or(false)
             ? "the run has one thread, so that no branch can run beside another: run with "
               "--threads 2 or more"
             : std::string();
}

}  // namespace plumb::analysis
