// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <span>
#include <string_view>

namespace plumb::contract {

/// Names one small layer that every backend must compute, or refuse with a reason.
struct LayerCase {
  std::string_view name;  ///< letters, digits and _
  std::string_view key;
};

inline void PrintTo(const LayerCase& layer, std::ostream* out) {
  *out << layer.key;
}

/// Lists small layers of every operator kind of docs/reference/layer-keys.md, in f32 and, for what
/// is measured in it, bf16.
[[nodiscard]] std::span<const LayerCase> layer_cases();

}  // namespace plumb::contract
