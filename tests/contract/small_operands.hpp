// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::contract {

/// Makes operands of an integer product that code without VNNI computes exactly: factors are even
/// and at most 14, so that halves are whole and no sum of two products reaches 16 bits. The grid of
/// the result is finer by as much. Otherwise they are those of random_operands.
[[nodiscard]] std::vector<model::Tensor> small_operands(const model::LayerSpec& spec,
                                                        std::uint64_t seed);

}  // namespace plumb::contract
