// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Lists a `batch_norm` with constant f32 parameters as one binary primitive with post-operations.
///
/// At inference it is element-wise: x less the mean, times 1 ÷ √(variance + epsilon), times the
/// scale, plus the bias, then the epilogue. Lists nothing for others.
void offer_channel_scaling(const model::LayerSpec& spec, const Device& device, BuilderList& list);

}  // namespace plumb::onednn
