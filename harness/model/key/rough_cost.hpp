// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Prices a layer by its spec: its operations, and its bytes at eight operations each. Only for
/// comparing layers with each other, where none has been measured.
[[nodiscard]] double rough_cost(const LayerSpec& spec);

}  // namespace plumb::model
