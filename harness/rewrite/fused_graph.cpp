// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/fused_graph.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::rewrite {
namespace {

/// Adds a constant that is computed from another one before the model runs.
model::ValueId add_constant(model::Graph& graph,
                            const std::string& name,
                            const model::TensorType& type) {
  graph.values.push_back({name, type, {}, {}});
  return graph.values.size() - 1;
}

model::Layer make_layer(const model::Graph& graph, const Match& match) {
  const model::Layer& first = graph.layers[match.layers.front()];
  model::Layer layer;
  layer.name = first.name;
  layer.onnx_op = first.onnx_op;
  layer.spec = match.spec;
  layer.key = match.key;
  layer.cost = match.cost;
  layer.inputs = match.inputs;
  layer.outputs = {match.result};
  layer.outputs.insert(
      layer.outputs.end(), match.further_results.begin(), match.further_results.end());
  return layer;
}

/// Adds weights and a bias of the layer's own, into which the match's layers are folded. Returns
/// the folding.
FusedGraph::Folding fold_channels(const model::Graph& from,
                                  const Match& match,
                                  model::Layer& layer,
                                  model::Graph& graph) {
  FusedGraph::Folding folding;
  folding.weights = match.inputs.at(1).value();
  folding.bias = match.inputs.at(2);
  for (const model::LayerId id : match.folded) {
    folding.layers.push_back(from.layers[id]);
  }
  folding.folded_weights = add_constant(
      graph, from.values[folding.weights].name + " (folded)", match.spec.inputs[1].value());
  folding.folded_bias =
      add_constant(graph, layer.name + " bias (folded)", match.spec.inputs[2].value());
  layer.inputs[1] = folding.folded_weights;
  layer.inputs[2] = folding.folded_bias;
  return folding;
}

/// Lists, for each layer of a match, the match. Throws Error{kInternal} if matches overlap.
std::vector<const Match*> matches_of_layers(const model::Graph& graph,
                                            std::span<const Match> matches) {
  std::vector<const Match*> covered(graph.layers.size(), nullptr);
  for (const Match& match : matches) {
    for (const model::LayerId id : match.layers) {
      PLUMB_CHECK(covered.at(id) == nullptr);
      covered[id] = &match;
    }
  }
  return covered;
}

/// Lists the layers in the order of the fused graph: as they were, but for views of a match's
/// results that stood before its last layer. They follow it.
std::vector<model::LayerId> fused_order(const model::Graph& graph,
                                        const std::vector<const Match*>& covered) {
  std::vector<model::LayerId> place(graph.layers.size());
  std::iota(place.begin(), place.end(), model::LayerId{0});
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (covered[id] != nullptr) {
      place[id] = covered[id]->layers.back();
    } else if (layer.role == model::Layer::Role::kView && layer.inputs.front() &&
               graph.values[*layer.inputs.front()].producer) {
      place[id] = std::max(id, place[*graph.values[*layer.inputs.front()].producer]);
    }
  }
  std::vector<model::LayerId> order(place.size());
  std::iota(order.begin(), order.end(), model::LayerId{0});
  // Of the layers of one place, the one that stood there makes what the views read.
  std::sort(order.begin(), order.end(), [&](model::LayerId left, model::LayerId right) {
    return std::tuple(place[left], left != place[left], left) <
           std::tuple(place[right], right != place[right], right);
  });
  return order;
}

}  // namespace

FusedGraph fused_graph(const model::Graph& graph, std::span<const Match> matches) {
  const std::vector<const Match*> covered = matches_of_layers(graph, matches);
  FusedGraph fused{graph, {}, {}, {}};
  fused.graph.layers.clear();
  for (const model::LayerId id : fused_order(graph, covered)) {
    const Match* const match = covered[id];
    if (match == nullptr) {
      fused.graph.layers.push_back(graph.layers[id]);
      fused.origins.push_back({id});
    } else if (id == match->layers.back()) {
      model::Layer layer = make_layer(graph, *match);
      if (!match->folded.empty()) {
        fused.foldings.push_back(fold_channels(graph, *match, layer, fused.graph));
      }
      fused.graph.layers.push_back(std::move(layer));
      fused.origins.push_back(match->layers);
    }
  }
  for (model::Value& value : fused.graph.values) {
    value.producer.reset();
  }
  for (model::LayerId id = 0; id < fused.graph.layers.size(); ++id) {
    for (const model::ValueId output : fused.graph.layers[id].outputs) {
      fused.graph.values[output].producer = id;
    }
  }
  return fused;
}

}  // namespace plumb::rewrite
