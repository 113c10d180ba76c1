// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/graph_variants.hpp"

namespace plumb::cuda {

/// Lists cuDNN's variants of a `conv`, a `conv_transpose` or a convolution's gradient. They have
/// operands in NCHW and in NHWC, and keep the layer's promise of precision. First stands what
/// heuristic A ranks first for NCHW. Where cuDNN fuses nothing, and for every transposed
/// convolution, there are variants with bias and fused steps by built-in kernels after it. Throws
/// Unsupported with cuDNN's message if there is none.
[[nodiscard]] std::vector<VariantBuilder> convolution_variants(const model::LayerSpec& spec,
                                                               CudnnHandle& handle,
                                                               const KernelStep& kernel);

/// Lists cuDNN's variants of a `conv_integer`. cuDNN multiplies s8 with s8 into s32, and built-in
/// kernels do the rest before and after it, NHWC first. Variants with all of it as one graph are
/// listed too, where cuDNN has engines for that. Throws Unsupported.
[[nodiscard]] std::vector<VariantBuilder> integer_convolution_offers(const model::LayerSpec& spec,
                                                                     CudnnHandle& handle,
                                                                     const KernelStep& kernel);

/// Lists the forms in which cuDNN executes a convolution: all of it at once, or with what follows
/// it `apart`. Throws Unsupported. Needs no library.
[[nodiscard]] std::vector<GraphForm> convolution_forms(const model::LayerSpec& spec, bool apart);

}  // namespace plumb::cuda
