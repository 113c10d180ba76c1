// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
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

/// Layer that a suite lists by itself, in a shapes file.
struct ListedLayer {
  LayerKey key;
  std::int64_t count = 1;  ///< occurrences where it comes from
  std::string file;        ///< the shapes file

  auto operator<=>(const ListedLayer&) const = default;
};

}  // namespace plumb::model

template <>
struct std::hash<plumb::model::LayerKey> {
  std::size_t operator()(const plumb::model::LayerKey& key) const noexcept {
    return std::hash<std::string>{}(key.text);
  }
};
