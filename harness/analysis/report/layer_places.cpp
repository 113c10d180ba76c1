// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/layer_places.hpp"

#include <fmt/format.h>

namespace plumb::analysis {

void LayerPlaces::add(const model::LayerKey& key,
                      const model::Layer& layer,
                      const ModelInstance& model) {
  Place& place = places_[key.text];
  if (place.count++ == 0) {
    place.first = fmt::format(
        "{} of {}", layer.name.empty() ? layer.onnx_op : layer.name, to_text(model, ", "));
  }
}

void LayerPlaces::add_layers(const model::Graph& graph, const ModelInstance& model) {
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      add(layer.key, layer, model);
    }
  }
}

std::map<std::string, std::string> LayerPlaces::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [key, place] : places_) {
    texts[key] =
        place.first + (place.count > 1 ? fmt::format(", and {} more", place.count - 1) : "");
  }
  return texts;
}

}  // namespace plumb::analysis
