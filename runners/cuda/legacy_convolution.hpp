// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/legacy_problem.hpp"

namespace plumb::cuda {

/// Translates a `conv` for cuDNN's older calls, in both layouts: with all that its fused call does
/// where that is all there is to do, and with kernels of ours behind it. Throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_convolutions(const LayerSpec& spec);

/// Describes a `conv` in a layout without bias and fused steps; buffers as of the layer. Throws
/// Unsupported.
[[nodiscard]] LegacyConvolution legacy_convolution(const LayerSpec& spec, TensorLayout layout);

}  // namespace plumb::cuda
