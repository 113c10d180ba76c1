// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

/// Translates a `conv`, `conv_integer`, `conv_transpose`, or a convolution's gradient by its data
/// or weights. The gradient is the layer's first output. Bias, addition and activation become
/// pointwise operations, each on the result before. An addition stands before the bias, where
/// cuDNN's own fused kernels have it. One spatial axis becomes two, the first of extent 1. Throws
/// Unsupported for what cuDNN cannot do.
[[nodiscard]] TensorGraph convolution_graph(const model::LayerSpec& spec, TensorLayout layout);

/// Translates a `max_pool` or `average_pool`. Previews alone ask about them: to execute a pool,
/// cuDNN's older calls and built-in kernels are used. Throws Unsupported for a pool that gives
/// positions or has dilations or fused steps.
[[nodiscard]] TensorGraph pool_graph(const model::LayerSpec& spec, TensorLayout layout);

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
