// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runners/cuda/dnn/graph_variants.hpp"

namespace plumb::cuda {

/// Returns the form in which cuDNN executes an `attention` layer. Throws Unsupported. Needs no
/// library.
[[nodiscard]] GraphForm attention_form(const model::LayerSpec& spec);

/// Lists cuDNN's engines for an `attention` layer as one operation graph. All keep the layer's
/// promise of precision, and heuristic A's first choice stands first. Empty where cuDNN has no form
/// for the layer, or refuses it. Only the built-in kernel remains then.
[[nodiscard]] std::vector<VariantBuilder> attention_variants(const model::LayerSpec& spec,
                                                             CudnnHandle& handle);

/// Lists cuDNN's engines for the gradient of attention (attention_gradient_form()) in the same way.
/// Empty also where require_sound_attention_gradient() refuses the layer.
[[nodiscard]] std::vector<VariantBuilder> attention_gradient_offers(const model::LayerSpec& spec,
                                                                    CudnnHandle& handle);

/// Throws Unsupported for a layer that this version of cuDNN (91900: 9.19.0) must not execute.
/// Wrong results are known of 9.10.0 and 9.10.1, and up to 9.15 for numbers of keys that 128 does
/// not divide (cudnn-frontend pads those). One query with one key is refused too.
void require_sound_attention_gradient(const model::LayerSpec& spec, std::size_t version);

}  // namespace plumb::cuda
