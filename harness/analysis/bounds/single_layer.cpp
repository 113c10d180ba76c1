// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/single_layer.hpp"

#include <fmt/format.h>

#include "harness/analysis/bounds/hardware_bound.hpp"

namespace plumb::analysis {
namespace {

/// Returns a model that has this one layer.
model::Graph graph_of_layer(const model::LayerSpec& spec, const model::LayerCost& cost) {
  model::Graph graph;
  model::Layer layer;
  layer.spec = spec;
  layer.cost = cost;
  layer.role = spec.op == "view" ? model::Layer::Role::kView : model::Layer::Role::kCompute;
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    layer.inputs.push_back(input ? std::optional(graph.values.size()) : std::nullopt);
    if (input) {
      graph.values.push_back({"", *input, std::nullopt, std::nullopt});
    }
  }
  for (const model::TensorType& output : spec.outputs) {
    layer.outputs.push_back(graph.values.size());
    graph.outputs.push_back(graph.values.size());
    graph.values.push_back({"", output, model::LayerId{0}, std::nullopt});
  }
  graph.layers.push_back(std::move(layer));
  return graph;
}

}  // namespace

std::vector<SingleLayerResult> single_layer_results(std::span<const model::ListedLayer> layers,
                                                    const ResultSet& results) {
  std::vector<SingleLayerResult> all;
  for (const model::ListedLayer& layer : layers) {
    SingleLayerResult& result = all.emplace_back();
    result.layer = layer;
    const model::LayerSpec spec = model::parse_key(layer.key);
    result.cost = model::compute_cost(spec);
    for (const results::CacheMode cache :
         {results::CacheMode::kNone, results::CacheMode::kWeights, results::CacheMode::kAll}) {
      if (!result.time) {
        result.cache = cache;
        result.time = results.best(layer.key, cache);
      }
    }
    if (results.reached_calibration()) {
      const auto floor =
          hardware_floor(graph_of_layer(spec, result.cost), *results.reached_calibration());
      result.hardware = floor ? floor->seconds() : std::nullopt;
    }
    if (!result.time) {
      const std::optional<results::Outcome> failure = results.failure(layer.key);
      result.reason = failure ? fmt::format("{}: {}", to_text(failure->kind), failure->reason)
                              : std::string("not measured");
    }
  }
  return all;
}

}  // namespace plumb::analysis
