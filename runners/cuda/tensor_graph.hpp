// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "runners/cuda/cudnn_abi.hpp"

namespace plumb::cuda {

/// Describes one tensor of an operation graph as cuDNN wants it.
struct GraphTensor {
  abi::Type type = abi::Type::kFloat;
  std::vector<std::int64_t> dimensions;  ///< batch, channels, then the spatial axes
  std::vector<std::int64_t> strides;     ///< in elements
  bool is_virtual = false;               ///< never in memory: between fused operations
  std::optional<std::size_t> operand;  ///< of the layer that it is; absent: its result, or virtual
};

/// Is a convolution, or what propagates a convolution's gradient to its data: a transposed one.
/// Tensors are indices into TensorGraph::tensors.
struct ConvolutionOperation {
  enum class Direction { kForward, kBackwardData };
  Direction direction = Direction::kForward;
  std::size_t input = 0;
  std::size_t weights = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_before;  ///< of the convolution, thus of a transposed one's output
  std::vector<std::int64_t> pads_after;
};

/// Is an operation on each element by itself.
struct PointwiseOperation {
  abi::PointwiseMode mode = abi::PointwiseMode::kAdd;
  std::size_t input = 0;
  std::optional<std::size_t> operand;  ///< of an addition or a product
  std::size_t output = 0;
  std::optional<double> upper_clip;        ///< of kRelu
  std::optional<double> lower_clip_slope;  ///< of kRelu
  std::optional<double> elu_alpha;
};

using GraphOperation = std::variant<ConvolutionOperation, PointwiseOperation>;

/// Is a layer as one of cuDNN's operation graphs: operations in order, each on tensors that are
/// operands or that an operation before it has made. Computes in f32. A value that needs no
/// library.
struct TensorGraph {
  std::vector<GraphTensor> tensors;  ///< a tensor's id is its index plus one
  std::vector<GraphOperation> operations;
};

}  // namespace plumb::cuda
