// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "harness/model/graph.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Keeps what the library offers for layers, and the plans made of offers, for all layers of a key
/// and for plan after plan: primitives hold no operands. All of it is for the number of threads
/// that the library had when it was asked.
class LayerParts {
 public:
  explicit LayerParts(const Device& device) : device_(device) {}

  /// Lists the ways to execute a layer. Throws Unsupported.
  [[nodiscard]] const OfferList& offers(const Layer& layer);
  /// Builds an offer, once. Throws what the library throws.
  [[nodiscard]] const LayerPlan& built(const Layer& layer, const Offer& offer);

 private:
  const Device& device_;
  std::unordered_map<LayerKey, OfferList> offers_;
  std::map<std::pair<std::string, std::string>, LayerPlan> built_;  // by key and variant
};

}  // namespace plumb::onednn
