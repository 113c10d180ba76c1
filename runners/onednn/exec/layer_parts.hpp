// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "harness/model/graph/graph.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Cache of layers' variant builders and of the plans that they built.
///
/// It serves all layers of a key and plan after plan, because primitives hold no operands. Its
/// content is valid for the number of threads that the library had when it was asked.
class LayerParts {
 public:
  explicit LayerParts(const Device& device) : device_(device) {}

  /// Lists the ways to execute a layer. Throws Unsupported.
  [[nodiscard]] const BuilderList& builders(const model::Layer& layer);
  /// Returns the builder of a variant that divides the layer's batch. Null: the variant names no
  /// division. Throws Unsupported where it cannot be executed.
  [[nodiscard]] const VariantBuilder* divided(const model::Layer& layer,
                                              const std::string& variant);
  /// Returns the plan of a builder, built at the first call. Throws the library's exceptions.
  [[nodiscard]] const ExecutionPlan& built(const model::Layer& layer,
                                           const VariantBuilder& builder);
  /// Frees the builders, of which a layer has up to dozens with descriptors of some kilobytes each.
  /// What they built is kept.
  void release_builders();

 private:
  const Device& device_;
  std::unordered_map<model::LayerKey, BuilderList> builders_;
  std::map<std::pair<std::string, std::string>, VariantBuilder> divided_;  // by key and variant
  std::map<std::pair<std::string, std::string>, ExecutionPlan> built_;     // likewise
};

}  // namespace plumb::onednn
