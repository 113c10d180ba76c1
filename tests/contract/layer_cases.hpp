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

// One prefix and suffix for all: what is left is what a case is about.
#define PLUMB_CASE(name, operands, attributes)             \
  LayerCase {                                              \
    name, "v1:" operands ";acc=f32;math=strict" attributes \
  }

inline void PrintTo(const LayerCase& layer, std::ostream* out) {
  *out << layer.key;
}

/// Lists the cases of training: gradients, the products among them, and updates.
[[nodiscard]] std::span<const LayerCase> training_layer_cases();

/// Lists small layers of every operator kind of docs/reference/layer-keys.md, in f32 and, for what
/// is measured in it, bf16.
[[nodiscard]] std::span<const LayerCase> layer_cases();

}  // namespace plumb::contract
