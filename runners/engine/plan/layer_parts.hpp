// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::engine {

/// Cache of layers' variant builders, of the plans that they built, and of refusals. It serves all
/// layers of a key, and plan after plan where steps hold no operands. A builder has its variant's
/// name as `text`.
template <typename Builder, typename Plan>
class LayerParts {
 public:
  /// Lists the ways to execute a layer, the first choice first. Throws Unsupported.
  using List = std::function<std::vector<Builder>(const model::LayerSpec&)>;
  /// Finds a variant that no list has. Throws Unsupported where it cannot be executed.
  using Find = std::function<std::optional<Builder>(const model::LayerSpec&, const std::string&)>;

  explicit LayerParts(List list, Find find_unlisted = {})
      : list_(std::move(list)), find_unlisted_(std::move(find_unlisted)) {}

  [[nodiscard]] static std::string name_of(const Builder& builder) {
    return std::invoke(&Builder::text, builder);
  }

  /// Lists the ways to execute a layer. Throws Unsupported.
  [[nodiscard]] const std::vector<Builder>& builders(const model::Layer& layer) {
    const auto found = builders_.find(layer.key);
    return found != builders_.end() ? found->second
                                    : builders_.emplace(layer.key, list_(layer.spec)).first->second;
  }

  /// Returns the builder of a variant. Null: the layer has none of that name. Throws Unsupported.
  [[nodiscard]] const Builder* named(const model::Layer& layer, const std::string& variant) {
    for (const Builder& builder : builders(layer)) {
      if (name_of(builder) == variant) {
        return &builder;
      }
    }
    const std::pair name(layer.key.text, variant);
    auto found = unlisted_.find(name);
    if (found == unlisted_.end() && find_unlisted_) {
      if (std::optional<Builder> builder = find_unlisted_(layer.spec, variant)) {
        found = unlisted_.emplace(name, *std::move(builder)).first;
      }
    }
    return found != unlisted_.end() ? &found->second : nullptr;
  }

  /// Returns the plan of a builder, made by `build(builder, refusal)` at the first call. Null: that
  /// made none, and `refusal` says why. Throws what it throws.
  template <typename Build>
  [[nodiscard]] const Plan* built(const model::Layer& layer,
                                  const Builder& builder,
                                  const Build& build,
                                  std::string& refusal) {
    const std::pair name(layer.key.text, name_of(builder));
    auto found = built_.find(name);
    if (found == built_.end()) {
      std::optional<Plan> plan = build(builder, refusal);
      found = built_.emplace(name, std::pair(std::move(plan), refusal)).first;
    }
    refusal = found->second.second;
    return found->second.first ? &*found->second.first : nullptr;
  }

  /// Frees the builders, of which a layer has up to dozens with descriptors of some kilobytes each.
  /// What they built is kept.
  void release_builders() {
    builders_.clear();
    unlisted_.clear();
  }

 private:
  using Name = std::pair<std::string, std::string>;  // key and variant

  List list_;
  Find find_unlisted_;
  std::unordered_map<model::LayerKey, std::vector<Builder>> builders_;
  std::map<Name, Builder> unlisted_;
  std::map<Name, std::pair<std::optional<Plan>, std::string>> built_;
};

}  // namespace plumb::engine
