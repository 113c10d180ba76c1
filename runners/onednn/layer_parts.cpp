// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/layer_parts.hpp"

#include "runners/onednn/layers/layers.hpp"

namespace plumb::onednn {

const OfferList& LayerParts::offers(const Layer& layer) {
  const auto found = offers_.find(layer.key);
  return found != offers_.end()
             ? found->second
             : offers_.emplace(layer.key, offers_of(layer.spec, device_)).first->second;
}

const LayerPlan& LayerParts::built(const Layer& layer, const Offer& offer) {
  const std::pair<std::string, std::string> name(layer.key.text, offer.text());
  const auto found = built_.find(name);
  return found != built_.end() ? found->second : built_.emplace(name, offer.build()).first->second;
}

}  // namespace plumb::onednn
