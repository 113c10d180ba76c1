// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/layer_parts.hpp"

#include "runners/onednn/exec/layers.hpp"

namespace plumb::onednn {

const BuilderList& LayerParts::builders(const model::Layer& layer) {
  const auto found = builders_.find(layer.key);
  return found != builders_.end()
             ? found->second
             : builders_.emplace(layer.key, collect_builders(layer.spec, device_)).first->second;
}

const VariantBuilder* LayerParts::divided(const model::Layer& layer, const std::string& variant) {
  const std::pair<std::string, std::string> name(layer.key.text, variant);
  const auto found = divided_.find(name);
  if (found != divided_.end()) {
    return &found->second;
  }
  std::optional<VariantBuilder> builder = divided_builder(layer.spec, variant, device_);
  return builder ? &divided_.emplace(name, *std::move(builder)).first->second : nullptr;
}

const ExecutionPlan& LayerParts::built(const model::Layer& layer, const VariantBuilder& builder) {
  const std::pair<std::string, std::string> name(layer.key.text, builder.text());
  const auto found = built_.find(name);
  return found != built_.end() ? found->second
                               : built_.emplace(name, builder.build()).first->second;
}

void LayerParts::release_builders() {
  builders_.clear();
  divided_.clear();
}

}  // namespace plumb::onednn
