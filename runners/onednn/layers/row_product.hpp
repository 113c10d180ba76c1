// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/layer_spec.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Lists a `matmul` by one constant matrix as an inner product and as a 1×1 convolution of an image
/// whose pixels are the rows: with oneDNN 3.2 on CPUs without AVX-512 these can be twice as fast as
/// its matmul. Lists nothing for others.
void offer_row_products(const LayerSpec& spec, const Device& device, OfferList& list);

}  // namespace plumb::onednn
