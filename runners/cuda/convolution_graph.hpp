// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/cuda/cudnn_abi.hpp"
#include "runners/cuda/tensor_layout.hpp"

namespace plumb::cuda {

/// Describes one tensor of an operation graph as cuDNN wants it.
struct GraphTensor {
  abi::Type type = abi::Type::kFloat;
  std::vector<std::int64_t> dimensions;  ///< batch, channels, then the spatial axes
  std::vector<std::int64_t> strides;     ///< in elements
  bool is_virtual = false;               ///< never in memory: between fused operations
  std::optional<std::size_t> operand;  ///< of the layer that it is; absent: its result, or virtual
};

/// Is a pointwise operation behind the convolution.
struct PointwiseStep {
  abi::PointwiseMode mode = abi::PointwiseMode::kAdd;
  std::size_t input = 0;               ///< index into ConvolutionGraph::tensors
  std::optional<std::size_t> operand;  ///< likewise: of an addition or a product
  std::size_t output = 0;
  std::optional<double> upper_clip;        ///< of kRelu
  std::optional<double> lower_clip_slope;  ///< of kRelu
  std::optional<double> elu_alpha;
};

/// Is a convolution layer as a cuDNN operation graph: the convolution, then pointwise steps, each
/// on the result before. A value that needs no library.
struct ConvolutionGraph {
  std::vector<GraphTensor> tensors;  ///< a tensor's id is its index plus one
  std::size_t input = 0;
  std::size_t weights = 1;
  std::size_t result = 2;  ///< of the convolution alone
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_before;
  std::vector<std::int64_t> pads_after;
  std::vector<PointwiseStep> steps;
};

/// Is a layer's graph, or why cuDNN cannot be asked for the layer.
struct TranslatedLayer {
  std::optional<ConvolutionGraph> graph;
  std::string why_not;
};

/// Translates a layer. Bias, addition and activation become pointwise steps; an addition stands
/// before the bias, where cuDNN's own fused kernels have it. One spatial axis becomes two, the
/// first of extent 1. Computes in f32.
[[nodiscard]] TranslatedLayer convolution_graph(const LayerSpec& spec, TensorLayout layout);

}  // namespace plumb::cuda
