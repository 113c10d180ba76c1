// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::onednn {

/// Convolution in oneDNN's terms.
struct ConvolutionProblem {
  dnnl::memory::dims strides, dilations, begins, ends;
  dnnl::memory::dims weights;  ///< with groups: [g, O/g, I/g, k…]
  dnnl::memory::desc weights_view;
};

/// Reads a `conv` or `conv_transpose`, except its weights.
///
/// The pads at the beginning are the key's. The pads at the end are what the output's extent needs,
/// because output_padding is one of them. Ranks are checked before they become array lengths of a C
/// API. Throws Unsupported.
[[nodiscard]] ConvolutionProblem convolution_problem(const model::LayerSpec& spec);

/// Adds the weights: [O, I/g, k…] read as [g, O/g, I/g, k…], which are the same bytes.
void add_convolution_weights(const model::LayerSpec& spec, ConvolutionProblem& problem);

}  // namespace plumb::onednn
