// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/operation_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace plumb::cuda {
namespace {

using abi::Attribute;
using abi::DescriptorType;
using abi::ValueType;

constexpr std::int64_t kAlignment = 16;  // bytes; of every allocation on a device

void set_type(Descriptor& descriptor, Attribute name, abi::Type type) {
  descriptor.set_enumerator(name, ValueType::kDataType, static_cast<int>(type));
}

Descriptor tensor(const CudnnLibrary& library, const GraphTensor& value, std::int64_t id) {
  Descriptor result(library, DescriptorType::kTensor);
  set_type(result, Attribute::kTensorDataType, value.type);
  result.set(Attribute::kTensorDimensions, value.dimensions);
  result.set(Attribute::kTensorStrides, value.strides);
  result.set(Attribute::kTensorId, id);
  result.set(Attribute::kTensorAlignment, kAlignment);
  result.set_flag(Attribute::kTensorIsVirtual, value.is_virtual);
  result.finish("a tensor");
  return result;
}

Descriptor convolution(const CudnnLibrary& library, const ConvolutionGraph& graph) {
  Descriptor result(library, DescriptorType::kConvolution);
  set_type(result, Attribute::kConvolutionComputeType, abi::Type::kFloat);
  result.set_enumerator(Attribute::kConvolutionMode,
                        ValueType::kConvolutionMode,
                        static_cast<int>(abi::ConvolutionMode::kCrossCorrelation));
  result.set(Attribute::kConvolutionSpatialDimensions,
             static_cast<std::int64_t>(graph.strides.size()));
  result.set(Attribute::kConvolutionStrides, graph.strides);
  result.set(Attribute::kConvolutionDilations, graph.dilations);
  result.set(Attribute::kConvolutionPrePaddings, graph.pads_before);
  result.set(Attribute::kConvolutionPostPaddings, graph.pads_after);
  result.finish("the convolution");
  return result;
}

Descriptor pointwise(const CudnnLibrary& library, const PointwiseStep& step) {
  Descriptor result(library, DescriptorType::kPointwise);
  result.set_enumerator(
      Attribute::kPointwiseMode, ValueType::kPointwiseMode, static_cast<int>(step.mode));
  set_type(result, Attribute::kPointwiseComputeType, abi::Type::kFloat);
  if (step.upper_clip) {
    result.set(Attribute::kPointwiseReluUpperClip, *step.upper_clip);
  }
  if (step.lower_clip_slope) {
    result.set(Attribute::kPointwiseReluLowerClipSlope, *step.lower_clip_slope);
  }
  if (step.elu_alpha) {
    result.set(Attribute::kPointwiseEluAlpha, *step.elu_alpha);
  }
  result.finish("a pointwise operation");
  return result;
}

}  // namespace

OperationGraph operation_graph(const CudnnLibrary& library,
                               const ConvolutionGraph& graph,
                               abi::CudnnHandle handle) {
  OperationGraph result{{}, Descriptor(library, DescriptorType::kOperationGraph)};
  std::vector<Descriptor> tensors;
  for (const GraphTensor& value : graph.tensors) {
    tensors.push_back(tensor(library, value, static_cast<std::int64_t>(tensors.size()) + 1));
  }
  std::vector<Descriptor> operations;
  Descriptor& forward = operations.emplace_back(library, DescriptorType::kConvolutionForward);
  result.parts.push_back(convolution(library, graph));
  forward.set(Attribute::kForwardConvolution, result.parts.back());
  forward.set(Attribute::kForwardInput, tensors[graph.input]);
  forward.set(Attribute::kForwardWeights, tensors[graph.weights]);
  forward.set(Attribute::kForwardOutput, tensors[graph.result]);
  forward.set(Attribute::kForwardAlpha, 1.0F);
  forward.set(Attribute::kForwardBeta, 0.0F);
  forward.finish("the convolution operation");
  for (const PointwiseStep& step : graph.steps) {
    Descriptor& operation = operations.emplace_back(library, DescriptorType::kPointwiseOperation);
    result.parts.push_back(pointwise(library, step));
    operation.set(Attribute::kStepPointwise, result.parts.back());
    operation.set(Attribute::kStepInput, tensors[step.input]);
    if (step.operand) {
      operation.set(Attribute::kStepOperand, tensors[*step.operand]);
    }
    operation.set(Attribute::kStepOutput, tensors[step.output]);
    operation.finish("a fused operation");
  }
  if (handle != nullptr) {
    result.graph.set_handle(Attribute::kGraphHandle, handle);
  }
  result.graph.set(Attribute::kGraphOperations, operations);
  result.graph.finish("the operation graph");
  for (std::vector<Descriptor>* const made : {&tensors, &operations}) {
    std::move(made->begin(), made->end(), std::back_inserter(result.parts));
  }
  return result;
}

}  // namespace plumb::cuda
