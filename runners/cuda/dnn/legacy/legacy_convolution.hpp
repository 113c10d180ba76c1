// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/dnn/legacy/legacy_problem.hpp"

namespace plumb::cuda {

/// Translates a `conv` for cuDNN's older calls, in both layouts. The fused call is used where it
/// does all of the layer. Where it does not, or has one algorithm only, there is a form with
/// built-in kernels after the plain call. Throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_convolutions(const model::LayerSpec& spec);

/// Returns a `conv` in a layout, without bias and fused steps. Buffers are numbered as those of the
/// layer. Throws Unsupported.
[[nodiscard]] LegacyConvolution legacy_convolution(const model::LayerSpec& spec,
                                                   TensorLayout layout);

}  // namespace plumb::cuda
