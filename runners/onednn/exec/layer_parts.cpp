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

const ExecutionPlan& LayerParts::built(const model::Layer& layer, const VariantBuilder& builder) {
  const std::pair<std::string, std::string> name(layer.key.text, builder.text());
  const auto found = built_.find(name);
  return found != built_.end() ? found->second
                               : built_.emplace(name, builder.build()).first->second;
}

}  // namespace plumb::onednn
