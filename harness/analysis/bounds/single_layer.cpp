// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/single_layer.hpp"

#include <fmt/format.h>

#include "harness/analysis/bounds/hardware_bound.hpp"

namespace plumb {
namespace {

/// Returns a model that has this one layer.
Graph graph_of_layer(const LayerSpec& spec, const LayerCost& cost) {
  Graph graph;
  Layer layer;
  layer.spec = spec;
  layer.cost = cost;
  layer.role = spec.op == "view" ? Layer::Role::kView : Layer::Role::kCompute;
  for (const std::optional<TensorType>& input : spec.inputs) {
    layer.inputs.push_back(input ? std::optional(graph.values.size()) : std::nullopt);
    if (input) {
      graph.values.push_back({"", *input, std::nullopt, std::nullopt});
    }
  }
  for (const TensorType& output : spec.outputs) {
    layer.outputs.push_back(graph.values.size());
    graph.outputs.push_back(graph.values.size());
    graph.values.push_back({"", output, LayerId{0}, std::nullopt});
  }
  graph.layers.push_back(std::move(layer));
  return graph;
}

}  // namespace

std::vector<SingleLayerResult> single_layer_results(std::span<const SingleLayer> layers,
                                                    const ResultSet& results) {
  std::vector<SingleLayerResult> all;
  for (const SingleLayer& layer : layers) {
    SingleLayerResult& result = all.emplace_back();
    result.layer = layer;
    const LayerSpec spec = parse_key(layer.key);
    result.cost = cost_of(spec);
    for (const CacheMode cache : {CacheMode::kNone, CacheMode::kWeights, CacheMode::kAll}) {
      if (!result.time) {
        result.cache = cache;
        result.time = results.best(layer.key, cache);
      }
    }
    if (results.calibration()) {
      const auto floor = hardware_floor(graph_of_layer(spec, result.cost),
                                        with_reached_peaks(*results.calibration(), results.rows()));
      result.hardware = floor ? floor->seconds() : std::nullopt;
    }
    if (!result.time) {
      const std::optional<Outcome> failure = results.failure(layer.key);
      result.reason = failure ? fmt::format("{}: {}", to_text(failure->kind), failure->reason)
                              : std::string("not measured");
    }
  }
  return all;
}

}  // namespace plumb
