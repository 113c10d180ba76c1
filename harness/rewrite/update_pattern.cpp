// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/update_pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "harness/model/key/update_layer.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::size_t kMaxTensors = 48;

/// What updates of one layer share: the operation, its numbers and its condition.
using Rule =
    std::tuple<std::string, std::map<std::string, model::Attribute>, std::optional<model::ValueId>>;

/// Returns the value on which an update depends.
std::optional<model::ValueId> condition_of(const model::Layer& layer) {
  const std::optional<std::size_t> operand = model::UpdateShape(layer.spec).condition();
  return operand ? layer.inputs.at(*operand) : std::nullopt;
}

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
    const auto own =
        static_cast<std::ptrdiff_t>(layer.inputs.size()) - (condition_of(layer) ? 1 : 0);
    std::copy_n(layer.spec.inputs.begin(), own, std::back_inserter(joined.spec.inputs));
    std::copy(layer.spec.outputs.begin(),
              layer.spec.outputs.end(),
              std::back_inserter(joined.spec.outputs));
    std::copy_n(layer.inputs.begin(), own, std::back_inserter(joined.inputs));
    std::copy(layer.outputs.begin(), layer.outputs.end(), std::back_inserter(results));
  }
  const model::Layer& last = graph.layers[layers.back()];
  if (condition_of(last)) {
    joined.spec.inputs.push_back(last.spec.inputs.back());
    joined.inputs.push_back(last.inputs.back());
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
      updates[{spec.op, spec.attributes, condition_of(graph.layers[id])}].push_back(id);
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
