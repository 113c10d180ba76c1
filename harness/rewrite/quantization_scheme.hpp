// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Layers of a graph that compute in 8 bits, and values that are in 8 bits.
struct QuantizationScheme {
  std::vector<bool> products;        ///< by layer: becomes a product of 8-bit integers
  std::vector<bool> movers;          ///< by layer: only moves 8-bit integers
  std::vector<bool> eight_bit;       ///< by value: made in 8 bits by its layer
  std::vector<bool> non_negative;    ///< by value: no number is below zero
  std::vector<model::ValueId> grid;  ///< by value: the first value that has the same scale
};

/// Chooses the layers and values of a graph that are in 8 bits, for quantized_graph().
[[nodiscard]] QuantizationScheme quantization_scheme(const model::Graph& graph);

}  // namespace plumb::rewrite
