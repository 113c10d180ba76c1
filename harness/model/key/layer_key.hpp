// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <string>

namespace plumb::model {

/// Identity of what a layer computes: the canonical text of a LayerSpec, version first.
///
/// It is one line that names, filters, reproduces and compares layers. `plumb layer 'KEY'` measures
/// it. How the layer is computed belongs to the variant, and where to the environment.
struct LayerKey {
  std::string text;  ///< "v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c;out=f32[1,64,56,56];…"

  auto operator<=>(const LayerKey&) const = default;
};

}  // namespace plumb::model

template <>
struct std::hash<plumb::model::LayerKey> {
  std::size_t operator()(const plumb::model::LayerKey& key) const noexcept {
    return std::hash<std::string>{}(key.text);
  }
};
