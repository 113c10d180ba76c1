// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Lists a `matmul` by one constant matrix as an inner product. Lists nothing for others.
void offer_row_inner_product(const model::LayerSpec& spec, const Device& device, BuilderList& list);

/// Lists such a `matmul` as a 1×1 convolution of an image whose pixels are the rows. Lists nothing
/// for others.
void offer_row_convolution(const model::LayerSpec& spec, const Device& device, BuilderList& list);

}  // namespace plumb::onednn
