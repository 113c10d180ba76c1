// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/graph.hpp"

namespace plumb {

/// Layers of a graph that compute in 8 bits, and the values that they read and leave in 8 bits.
struct QuantizationScheme {
  std::vector<bool> products;      ///< by layer: becomes a product of 8-bit integers
  std::vector<bool> movers;        ///< by layer: moves 8-bit integers about
  std::vector<bool> eight_bit;     ///< by value: made in 8 bits by its layer
  std::vector<bool> non_negative;  ///< by value: no number is below zero
  std::vector<ValueId> grid;       ///< by value: the first of those that share its scale
};

/// Chooses them: see quantized_graph().
[[nodiscard]] QuantizationScheme quantization_scheme(const Graph& graph);

}  // namespace plumb
