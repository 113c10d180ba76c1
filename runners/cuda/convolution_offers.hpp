// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/graph_offers.hpp"

namespace plumb::cuda {

/// Lists the ways of cuDNN to execute a `conv`, a `conv_transpose` or a convolution's gradient,
/// with operands in NCHW and in NHWC, that keep the layer's promise of precision. First: what
/// heuristic A ranks first for NCHW. Where cuDNN fuses nothing, and of every transposed
/// convolution, also with bias and fused steps by kernels of ours behind it. Throws Unsupported
/// with cuDNN's words if there is none.
[[nodiscard]] std::vector<DeviceOffer> convolution_offers(const LayerSpec& spec,
                                                          CudnnHandle& handle,
                                                          const KernelStep& kernel);

/// Lists the ways of cuDNN to execute a `conv_integer`: s8 with s8 into s32 with what belongs to it
/// by kernels of ours before and behind, NHWC first; and all of it as one graph, where it has
/// engines for that. Throws Unsupported.
[[nodiscard]] std::vector<DeviceOffer> integer_convolution_offers(const LayerSpec& spec,
                                                                  CudnnHandle& handle,
                                                                  const KernelStep& kernel);

/// Lists the forms in which cuDNN is asked for a convolution: all of it at once, or with what
/// follows it `apart`. Throws Unsupported. Needs no library.
[[nodiscard]] std::vector<GraphForm> convolution_forms(const LayerSpec& spec, bool apart);

}  // namespace plumb::cuda
