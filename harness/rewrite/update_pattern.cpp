// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/update_pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "harness/model/key/update_layer.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::size_t kMaxTensors = 48;

using Rule = std::pair<std::string, std::map<std::string, model::Attribute>>;

Match join(const model::Graph& graph,
           std::string_view rule,
           const std::vector<model::LayerId>& layers) {
  Replacement joined;
  std::vector<model::ValueId> results;
  for (const model::LayerId id : layers) {
    const model::Layer& layer = graph.layers[id];
    if (id == layers.front()) {
      joined.spec = layer.spec;
      joined.spec.inputs.clear();
      joined.spec.outputs.clear();
    }
    std::copy(
        layer.spec.inputs.begin(), layer.spec.inputs.end(), std::back_inserter(joined.spec.inputs));
    std::copy(layer.spec.outputs.begin(),
              layer.spec.outputs.end(),
              std::back_inserter(joined.spec.outputs));
    std::copy(layer.inputs.begin(), layer.inputs.end(), std::back_inserter(joined.inputs));
    std::copy(layer.outputs.begin(), layer.outputs.end(), std::back_inserter(results));
  }
  joined.result = results.front();
  joined.further_results.assign(results.begin() + 1, results.end());
  return make_match(rule, layers, std::move(joined));
}

}  // namespace

std::vector<Match> find_updates(const model::Graph& graph, std::string_view rule) {
  std::map<Rule, std::vector<model::LayerId>> updates;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::LayerSpec& spec = graph.layers[id].spec;
    if (graph.layers[id].role == model::Layer::Role::kCompute && model::is_update(spec) &&
        model::UpdateShape(spec).tensors() == 1) {
      updates[{spec.op, spec.attributes}].push_back(id);
    }
  }
  std::vector<Match> matches;
  for (const auto& [of, layers] : updates) {
    for (std::size_t first = 0; first + 1 < layers.size(); first += kMaxTensors) {
      const auto begin = layers.begin() + static_cast<std::ptrdiff_t>(first);
      const auto count = std::min(kMaxTensors, layers.size() - first);
      matches.push_back(join(graph, rule, {begin, begin + static_cast<std::ptrdiff_t>(count)}));
    }
  }
  return matches;
}

}  // namespace plumb::rewrite
