// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runners/cuda/graph_offers.hpp"

namespace plumb::cuda {

/// Returns the form in which cuDNN is asked for an `attention` layer. Throws Unsupported. Needs no
/// library.
[[nodiscard]] GraphForm attention_form(const LayerSpec& spec);

/// Lists cuDNN's engines for an `attention` layer as one operation graph that keep the layer's
/// promise of precision, heuristic A's first choice first. Empty where cuDNN cannot be asked, or
/// refuses: our own kernel is left then.
[[nodiscard]] std::vector<DeviceOffer> attention_offers(const LayerSpec& spec, CudnnHandle& handle);

/// Lists cuDNN's engines for the gradient of attention (attention_gradient_form()), likewise. Not
/// of versions that are known to be wrong there: 9.10.0, 9.10.1, and up to 9.15 of numbers of keys
/// that 128 does not divide (cudnn-frontend, which pads them).
[[nodiscard]] std::vector<DeviceOffer> attention_gradient_offers(const LayerSpec& spec,
                                                                 CudnnHandle& handle);

/// Throws Unsupported for a layer that this version of cuDNN (91900: 9.19.0) must not be asked for.
void require_sound_attention_gradient(const LayerSpec& spec, std::size_t version);

}  // namespace plumb::cuda
