// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/layer_spec.hpp"

namespace plumb {

/// Makes operands for a layer, dense, in the key's order and types (absent ones: empty data):
/// random, never zero (but for conditions, flags and indices), from ranges where the layer's
/// function is defined and does not overflow: variances, logarithms' and roots' arguments positive,
/// indices inside, integers of at most 8. The same bytes for the same spec and seed on every
/// machine. Throws Error{kUser} for a type that number_formats cannot write.
[[nodiscard]] std::vector<Tensor> random_operands(const LayerSpec& spec, std::uint64_t seed);

}  // namespace plumb
