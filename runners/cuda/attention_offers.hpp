// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace plumb::cuda
