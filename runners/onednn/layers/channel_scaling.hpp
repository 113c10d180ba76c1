// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/layer_spec.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Lists a `batch_norm` with constant f32 parameters as what it is at inference, element by
/// element: x less the mean, times 1 ÷ √(variance + epsilon), times the scale, plus the bias, then
/// the epilogue; one binary primitive with post-operations. Lists nothing for others.
void offer_channel_scaling(const LayerSpec& spec, const Device& device, OfferList& list);

}  // namespace plumb::onednn
