// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "runners/cuda/dnn/cudnn_abi.hpp"

namespace plumb::cuda {

/// Tensor of an operation graph, as cuDNN wants it.
struct GraphTensor {
  abi::Type type = abi::Type::kFloat;
  std::vector<std::int64_t> dimensions;  ///< batch, channels, then the spatial axes
  std::vector<std::int64_t> strides;     ///< in elements
  bool is_virtual = false;               ///< never in memory: between fused operations
  std::optional<float> value;            ///< a number that the host gives
  /// Operand of the layer, or a later buffer of the plan that an earlier step makes. Absent: the
  /// tensor is a result, virtual or a number.
  std::optional<std::size_t> operand;
  std::size_t result = 0;  ///< which of the layer's results it is, if it is one

  [[nodiscard]] bool is_result() const { return !is_virtual && !value && !operand; }
};

/// Convolution, or the propagation of its gradient to its data or to its weights. Propagation to
/// the data is a transposed convolution. Tensors are indices into TensorGraph::tensors. The
/// direction says which of them is the result.
struct ConvolutionOperation {
  enum class Direction { kForward, kBackwardData, kBackwardWeights };
  Direction direction = Direction::kForward;
  std::size_t image = 0;  ///< the convolution's data, or their gradient
  std::size_t weights = 0;
  std::size_t grid = 0;  ///< the convolution's result, or its gradient
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  /// Pads of the convolution's image, also where the image is the result.
  std::vector<std::int64_t> pads_before;
  std::vector<std::int64_t> pads_after;
  abi::Type compute = abi::Type::kFloat;
};

/// Pointwise operation: it computes each element by itself.
struct PointwiseOperation {
  abi::PointwiseMode mode = abi::PointwiseMode::kAdd;
  std::size_t input = 0;
  std::optional<std::size_t> operand;    ///< second one, of modes that have two
  std::optional<std::size_t> condition;  ///< of kSelect: where it holds, the input is taken
  std::size_t output = 0;
  abi::Type compute = abi::Type::kFloat;
  std::optional<std::int64_t> axis;        ///< of kIndex
  std::optional<double> upper_clip;        ///< of kRelu
  std::optional<double> lower_clip_slope;  ///< of kRelu
  std::optional<double> elu_alpha;
};

/// Matrix product over the last two axes. Several heads of the left operand share one head of the
/// right operand.
struct MatmulOperation {
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t output = 0;
};

/// Reduction along the axes that are 1 in the output. Where the output has fewer heads, each joins
/// as many consecutive heads of the input.
struct ReductionOperation {
  abi::CudnnCalls::Reduction reduction = abi::CudnnCalls::Reduction::kAdd;
  std::size_t input = 0;
  std::size_t output = 0;
};

/// Pool: the largest number, or the average, of each position of a window.
struct ResampleOperation {
  abi::ResampleMode mode = abi::ResampleMode::kMax;
  std::size_t input = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> window;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> pads_before;
  std::vector<std::int64_t> pads_after;
};

/// View of a tensor with other extents and strides.
struct ReshapeOperation {
  std::size_t input = 0;
  std::size_t output = 0;
};

/// Normalisation of each row, a layer normalisation: (x − mean) ÷ √(variance + ε) · scale + bias.
struct NormOperation {
  abi::NormMode mode = abi::NormMode::kLayer;
  std::size_t input = 0;
  std::size_t scale = 0;
  std::size_t bias = 0;
  std::size_t epsilon = 0;  ///< a number that the host gives
  std::size_t output = 0;
};

/// Gradient of a normalisation with respect to its data, scale and bias. dx takes into account that
/// mean and variance change with x.
struct NormGradientOperation {
  abi::NormMode mode = abi::NormMode::kLayer;
  std::size_t gradient = 0;  ///< of the result
  std::size_t input = 0;     ///< the data
  std::size_t scale = 0;
  std::size_t mean = 0;
  std::size_t inverse_deviation = 0;  ///< 1 ÷ √(variance + ε)
  std::size_t output = 0;             ///< the gradient of the data
  std::size_t scale_gradient = 0;
  std::size_t bias_gradient = 0;
};

/// Layer as one of cuDNN's operation graphs. The operations are in order. Each works on tensors
/// that are operands or that an earlier operation has made. It computes in f32 unless it says
/// otherwise. The graph is a value and needs no library.
struct TensorGraph {
  using Operation = std::variant<ConvolutionOperation,
                                 PointwiseOperation,
                                 MatmulOperation,
                                 ReductionOperation,
                                 ResampleOperation,
                                 ReshapeOperation,
                                 NormOperation,
                                 NormGradientOperation>;

  std::vector<GraphTensor> tensors;  ///< a tensor's id is its index plus one
  std::vector<Operation> operations;
};

}  // namespace plumb::cuda
