// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/base/units.hpp"
#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Operations and bytes that a layer needs, from its spec alone.
struct LayerCost {
  std::int64_t macs =
      0;        ///< multiply-accumulates of products and convolutions of every kind, without bias
  Flops flops;  ///< 2 × macs, plus one or more per element for all else (table in layer_cost.cpp)
  Flops minimum_flops;  ///< of the cheapest algorithm class in use (3×3 stride-1 conv: Winograd
                        ///< F(4×4), 4 fewer)
  Bytes input_bytes;    ///< operands that are not constant; of a gather or slice what it reads
  Bytes weight_bytes;   ///< constant operands
  Bytes output_bytes;
};

/// Computes the cost of a layer. A view costs nothing.
[[nodiscard]] LayerCost compute_cost(const LayerSpec& spec);

/// Prices a layer by its spec: its operations, and its bytes at eight operations each. Only for
/// comparing layers with each other, where none has been measured.
[[nodiscard]] double rough_cost(const LayerSpec& spec);

}  // namespace plumb::model
