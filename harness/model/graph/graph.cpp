// SPDX-License-Identifier: Apache-2.0
#include "harness/model/graph/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_set>

#include "harness/base/units.hpp"
#include "harness/model/key/training_layers.hpp"

namespace plumb::model {

Graph::Totals totals(const Graph& graph) {
  Graph::Totals sums;
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

namespace {

using Role = Layer::Role;

bool is_executed(const Layer& layer) {
  return layer.role == Role::kCompute || layer.role == Role::kView;
}

}  // namespace

std::vector<ValueId> shared_bytes(const Graph& graph) {
  std::vector<ValueId> root(graph.values.size());
  std::iota(root.begin(), root.end(), ValueId{0});
  for (const Layer& layer : graph.layers) {
    if (layer.role == Role::kView && layer.inputs.at(0)) {
      root[layer.outputs.at(0)] = root[*layer.inputs[0]];
    } else if (layer.role == Role::kCompute && is_update(layer.spec)) {
      const UpdateShape shape(layer.spec);
      for (std::size_t result = 0; result < layer.outputs.size(); ++result) {
        root[layer.outputs[result]] = root[layer.inputs.at(shape.replaced(result)).value()];
      }
    }
  }
  return root;
}

Graph::Memory compute_memory(const Graph& graph) {
  const std::vector<ValueId> root = shared_bytes(graph);
  const std::size_t end = graph.layers.size();
  std::vector<std::size_t> last(graph.values.size(), 0);
  std::set<ValueId> constants;
  const std::set<ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  for (LayerId id = 0; id < end; ++id) {
    const Layer& layer = graph.layers[id];
    if (!is_executed(layer)) {
      continue;
    }
    for (const std::optional<ValueId>& input : layer.inputs) {
      if (!input) {
        continue;
      }
      last[root[*input]] = id;
      const std::optional<LayerId> producer = graph.values[root[*input]].producer;
      if (!inputs.contains(root[*input]) &&
          (!producer || graph.layers[*producer].role == Role::kFolded)) {
        constants.insert(root[*input]);
      }
    }
    for (const ValueId output : layer.outputs) {
      last[root[output]] = std::max(last[root[output]], id);
    }
  }
  for (const ValueId output : graph.outputs) {
    last[root[output]] = end;
  }
  const auto bytes = [&](ValueId value) { return byte_size(graph.values[value].type); };
  Graph::Memory memory;
  for (const ValueId input : graph.inputs) {
    memory.inputs += bytes(input);
  }
  for (const ValueId constant : constants) {
    memory.constants += bytes(constant);
  }
  std::vector<std::int64_t> freed(end + 1);
  std::int64_t held = 0;
  for (LayerId id = 0; id < end; ++id) {
    const Layer& layer = graph.layers[id];
    for (const ValueId output : layer.outputs) {
      if (is_executed(layer) && root[output] == output) {
        held += bytes(output).value;
        freed[last[output]] += bytes(output).value;
      }
    }
    memory.peak.value = std::max(memory.peak.value, held);
    held -= freed[id];
  }
  return memory;
}

}  // namespace plumb::model
