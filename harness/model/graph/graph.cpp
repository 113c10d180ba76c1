// SPDX-License-Identifier: Apache-2.0
#include "harness/model/graph/graph.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "harness/base/saturating_sum.hpp"

namespace plumb::model {

GraphTotals totals(const Graph& graph) {
  GraphTotals sums;
  sums.layers = graph.layers.size();
  std::unordered_set<LayerKey> keys;
  for (const Layer& layer : graph.layers) {
    if (layer.role == Layer::Role::kCompute || layer.role == Layer::Role::kView) {
      keys.insert(layer.key);
    }
    sums.folded_layers += layer.role == Layer::Role::kFolded ? 1U : 0U;
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - sums.macs;
    sums.macs_saturated = sums.macs_saturated || layer.cost.macs > room;
    sums.macs = saturating_sum(sums.macs, layer.cost.macs);
    ++sums.ops[layer.onnx_op];
  }
  sums.unique_layers = keys.size();
  return sums;
}

std::vector<std::vector<LayerId>> predecessors(const Graph& graph) {
  std::vector<std::vector<LayerId>> lists(graph.layers.size());
  for (LayerId id = 0; id < graph.layers.size(); ++id) {
    std::vector<LayerId>& list = lists[id];
    for (const std::optional<ValueId>& input : graph.layers[id].inputs) {
      if (input && graph.values[*input].producer) {
        list.push_back(*graph.values[*input].producer);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

}  // namespace plumb::model
