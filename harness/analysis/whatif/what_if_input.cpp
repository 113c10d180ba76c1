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

}  // namespace plumb::analysis
