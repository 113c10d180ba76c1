// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb::analysis {

/// Places of layer keys in models, collected layer by layer.
class LayerPlaces {
 public:
  /// Adds a place of a key: a layer of a model, or the first of the layers that it fuses.
  void add(const model::LayerKey& key, const model::Layer& layer, const ModelInstance& model);
  /// Adds all layers of a model that compute.
  void add_layers(const model::Graph& graph, const ModelInstance& model);

  /// Returns a text for each key: "conv1 of lenet, batch 1, f32, and 2 more".
  [[nodiscard]] std::map<std::string, std::string> texts() const;

 private:
  struct Place {
    std::string first;
    std::size_t count = 0;
  };
  std::map<std::string, Place> places_;
};

}  // namespace plumb::analysis
