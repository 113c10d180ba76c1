// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/dnn/legacy/legacy_problem.hpp"

namespace plumb::cuda {

/// Translates gradients for cuDNN's older calls: of convolutions, pools, softmax and activations.
/// Gradients of convolutions are by data and by weights, with the bias' gradient by a call of its
/// own. Where a call reads the layer's result, which the key does not have, the layer's own call
/// makes it before, in the timed part. Each throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_convolution_gradients(const model::LayerSpec& spec);
[[nodiscard]] std::vector<LegacyProblem> legacy_pool_gradients(const model::LayerSpec& spec);
[[nodiscard]] std::vector<LegacyProblem> legacy_softmax_gradients(const model::LayerSpec& spec);
[[nodiscard]] std::vector<LegacyProblem> legacy_function_gradients(const model::LayerSpec& spec);

}  // namespace plumb::cuda
