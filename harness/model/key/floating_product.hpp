// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Returns whether a layer adds up products of floating numbers, for which hardware offers factors
/// of fewer digits. Such layers are convolutions, matrix products, attention, recurrent layers, and
/// their gradients.
[[nodiscard]] bool is_floating_product(const LayerSpec& spec);

/// Returns whether a layer is one convolution or one matrix product of floating numbers, or a
/// gradient of one. Its errors do not pass through further products.
[[nodiscard]] bool is_single_product(const LayerSpec& spec);

}  // namespace plumb::model
