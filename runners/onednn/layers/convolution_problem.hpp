// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "harness/model/layer_spec.hpp"

namespace plumb::onednn {

/// Convolution in oneDNN's terms.
struct ConvolutionProblem {
  dnnl::memory::dims strides, dilations, begins, ends;
  dnnl::memory::dims weights;  ///< with groups: [g, O/g, I/g, k…]
  dnnl::memory::desc weights_view;
};

/// Reads a `conv` or `conv_transpose`, all but its weights. The begins are as the key says; the
/// ends are what the output's extent needs, since output_padding is an end pad. Ranks are checked
/// before they become array lengths of a C API: throws Unsupported.
[[nodiscard]] ConvolutionProblem convolution_problem(const LayerSpec& spec);

/// Reads [O, I/g, k…] as [g, O/g, I/g, k…] (same bytes).
void add_convolution_weights(const LayerSpec& spec, ConvolutionProblem& problem);

}  // namespace plumb::onednn
