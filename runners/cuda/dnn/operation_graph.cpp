// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/operation_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

namespace plumb::cuda {
namespace {

// Far above the length of any list of cuDNN's. It may announce more than it then gives.
constexpr std::int64_t kLongestList = 10'000;
constexpr std::int64_t kLongestText = std::int64_t{1} << 20;

DynamicLibrary::Owned new_descriptor(const CudnnLibrary& library,
                                     abi::CudnnCalls::DescriptorType type) {
  abi::Descriptor handle = nullptr;
  library.check(library.calls().create_descriptor(type, &handle), "a new descriptor");
  return {handle, library.calls().destroy_descriptor};
}

}  // namespace

Descriptor::Descriptor(const CudnnLibrary& library, abi::CudnnCalls::DescriptorType type)
    : library_(&library), handle_(new_descriptor(library, type)) {}

void Descriptor::set_raw(Attribute name, ValueType type, std::size_t count, const void* values) {
  library_->check(
      library_->calls().set_attribute(get(), name, type, static_cast<std::int64_t>(count), values),
      "an attribute");
}

void Descriptor::set(Attribute name, std::span<const std::int64_t> values) {
  set_raw(name, ValueType::kInt64, values.size(), values.data());
}
void Descriptor::set(Attribute name, float value) {
  set_raw(name, ValueType::kFloat, 1, &value);
}
void Descriptor::set(Attribute name, double value) {
  set_raw(name, ValueType::kDouble, 1, &value);
}
void Descriptor::set_flag(Attribute name, bool value) {
  set_raw(name, ValueType::kBoolean, 1, &value);
}
void Descriptor::set_enumerator(Attribute name, ValueType type, int value) {
  set_raw(name, type, 1, &value);
}
void Descriptor::set_handle(Attribute name, abi::DnnHandle handle) {
  set_raw(name, ValueType::kHandle, 1, &handle);
}
void Descriptor::set_pointers(Attribute name, std::span<void* const> addresses) {
  set_raw(name, ValueType::kVoidPointer, addresses.size(), addresses.data());
}
void Descriptor::set_text(Attribute name, std::string_view text) {
  set_raw(name, ValueType::kChar, text.size(), text.data());
}
void Descriptor::set(Attribute name, const Descriptor& value) {
  const abi::Descriptor handle = value.get();
  set_raw(name, ValueType::kDescriptor, 1, &handle);
}
void Descriptor::set(Attribute name, std::span<const Descriptor> values) {
  std::vector<abi::Descriptor> handles;
  for (const Descriptor& value : values) {
    handles.push_back(value.get());
  }
  set_raw(name, ValueType::kDescriptor, handles.size(), handles.data());
}

void Descriptor::finish(const char* what) {
  library_->check(library_->calls().finalize(get()), what);
}

std::int64_t Descriptor::count(Attribute name, ValueType type) const {
  std::int64_t result = 0;
  library_->check(library_->calls().get_attribute(get(), name, type, 0, &result, nullptr),
                  "a count");
  return std::clamp<std::int64_t>(
      result, 0, type == ValueType::kChar ? kLongestText : kLongestList);
}

std::int64_t Descriptor::integer(Attribute name) const {
  std::int64_t value = 0;
  std::int64_t got = 0;
  library_->check(library_->calls().get_attribute(get(), name, ValueType::kInt64, 1, &got, &value),
                  "a number");
  return value;
}

std::optional<std::int64_t> Descriptor::small_integer(Attribute name) const {
  std::int32_t value = 0;
  std::int64_t got = 0;
  const int status =
      library_->calls().get_attribute(get(), name, ValueType::kInt32, 1, &got, &value);
  return status == abi::kSuccess && got == 1 ? std::optional<std::int64_t>(value) : std::nullopt;
}

int Descriptor::enumerator(Attribute name, ValueType type) const {
  int value = 0;
  std::int64_t got = 0;
  library_->check(library_->calls().get_attribute(get(), name, type, 1, &got, &value),
                  "an enumerator");
  return value;
}

std::vector<int> Descriptor::enumerators(Attribute name, ValueType type) const {
  std::vector<int> values(static_cast<std::size_t>(count(name, type)));
  std::int64_t got = 0;
  if (!values.empty()) {
    library_->check(
        library_->calls().get_attribute(
            get(), name, type, static_cast<std::int64_t>(values.size()), &got, values.data()),
        "enumerators");
    values.resize(
        std::min(values.size(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0))));
  }
  return values;
}

std::string Descriptor::text(Attribute name) const {
  std::string result(static_cast<std::size_t>(count(name, ValueType::kChar)), '\0');
  std::int64_t got = 0;
  if (!result.empty()) {
    library_->check(library_->calls().get_attribute(get(),
                                                    name,
                                                    ValueType::kChar,
                                                    static_cast<std::int64_t>(result.size()),
                                                    &got,
                                                    result.data()),
                    "a text");
    result.resize(std::min(result.find('\0'), result.size()));
  }
  return result;
}

std::vector<Descriptor> Descriptor::descriptors(Attribute name,
                                                abi::CudnnCalls::DescriptorType type,
                                                std::optional<std::int64_t> most) const {
  const std::int64_t room = most ? *most : count(name, ValueType::kDescriptor);
  std::vector<Descriptor> result;
  std::vector<abi::Descriptor> handles;
  for (std::int64_t index = 0; index < room; ++index) {
    result.emplace_back(*library_, type);
    handles.push_back(result.back().get());
  }
  std::int64_t got = 0;
  if (room > 0) {
    library_->check(library_->calls().get_attribute(
                        get(), name, ValueType::kDescriptor, room, &got, handles.data()),
                    "descriptors");
  }
  result.erase(result.begin() + std::clamp<std::int64_t>(got, 0, room), result.end());
  return result;
}

namespace {

using Attribute = abi::CudnnCalls::Attribute;
using DescriptorType = abi::CudnnCalls::DescriptorType;
using ValueType = abi::CudnnCalls::ValueType;

constexpr std::int64_t kAlignment = 16;  // bytes; of every allocation on a device

void set_type(Descriptor& descriptor, Attribute name, abi::CudnnCalls::Type type) {
  descriptor.set_enumerator(name, ValueType::kDataType, static_cast<int>(type));
}

Descriptor tensor(const CudnnLibrary& library, const TensorGraph::Tensor& value, std::int64_t id) {
  Descriptor result(library, DescriptorType::kTensor);
  set_type(result, Attribute::kTensorDataType, value.type);
  result.set(Attribute::kTensorDimensions, value.dimensions);
  result.set(Attribute::kTensorStrides, value.strides);
  result.set(Attribute::kTensorId, id);
  result.set(Attribute::kTensorAlignment, kAlignment);
  result.set_flag(Attribute::kTensorIsVirtual, value.is_virtual);
  if (value.value) {
    result.set_flag(Attribute::kTensorIsByValue, true);
  }
  result.finish("a tensor");
  return result;
}

Descriptor convolution(const CudnnLibrary& library, const TensorGraph::Convolution& value) {
  Descriptor result(library, DescriptorType::kConvolution);
  set_type(result, Attribute::kConvolutionComputeType, value.compute);
  result.set_enumerator(Attribute::kConvolutionMode,
                        ValueType::kConvolutionMode,
                        static_cast<int>(abi::CudnnCalls::ConvolutionMode::kCrossCorrelation));
  result.set(Attribute::kConvolutionSpatialDimensions,
             static_cast<std::int64_t>(value.strides.size()));
  result.set(Attribute::kConvolutionStrides, value.strides);
  result.set(Attribute::kConvolutionDilations, value.dilations);
  result.set(Attribute::kConvolutionPrePaddings, value.pads_before);
  result.set(Attribute::kConvolutionPostPaddings, value.pads_after);
  result.finish("the convolution");
  return result;
}

/// Descriptor type and attributes of a convolution's operation in one direction.
struct ConvolutionNames {
  DescriptorType type;
  Attribute convolution, image, weights, grid, alpha, beta;
};

const ConvolutionNames& names_of(TensorGraph::Convolution::Direction direction) {
  static constexpr ConvolutionNames kForward{DescriptorType::kConvolutionForward,
                                             Attribute::kForwardConvolution,
                                             Attribute::kForwardInput,
                                             Attribute::kForwardWeights,
                                             Attribute::kForwardOutput,
                                             Attribute::kForwardAlpha,
                                             Attribute::kForwardBeta};
  static constexpr ConvolutionNames kData{DescriptorType::kConvolutionBackwardData,
                                          Attribute::kBackwardDataConvolution,
                                          Attribute::kBackwardDataInputGradient,
                                          Attribute::kBackwardDataWeights,
                                          Attribute::kBackwardDataOutputGradient,
                                          Attribute::kBackwardDataAlpha,
                                          Attribute::kBackwardDataBeta};
  static constexpr ConvolutionNames kWeights{DescriptorType::kConvolutionBackwardWeights,
                                             Attribute::kBackwardWeightsConvolution,
                                             Attribute::kBackwardWeightsInput,
                                             Attribute::kBackwardWeightsGradient,
                                             Attribute::kBackwardWeightsOutputGradient,
                                             Attribute::kBackwardWeightsAlpha,
                                             Attribute::kBackwardWeightsBeta};
  switch (direction) {
    case TensorGraph::Convolution::Direction::kBackwardData:
      return kData;
    case TensorGraph::Convolution::Direction::kBackwardWeights:
      return kWeights;
    case TensorGraph::Convolution::Direction::kForward:
      break;
  }
  return kForward;
}

Descriptor pointwise(const CudnnLibrary& library, const TensorGraph::Pointwise& value) {
  Descriptor result(library, DescriptorType::kPointwise);
  result.set_enumerator(
      Attribute::kPointwiseMode, ValueType::kPointwiseMode, static_cast<int>(value.mode));
  set_type(result, Attribute::kPointwiseComputeType, value.compute);
  if (value.axis) {
    result.set(Attribute::kPointwiseAxis, *value.axis);
  }
  if (value.upper_clip) {
    result.set(Attribute::kPointwiseReluUpperClip, *value.upper_clip);
  }
  if (value.lower_clip_slope) {
    result.set(Attribute::kPointwiseReluLowerClipSlope, *value.lower_clip_slope);
  }
  if (value.elu_alpha) {
    result.set(Attribute::kPointwiseEluAlpha, *value.elu_alpha);
  }
  result.finish("a pointwise operation");
  return result;
}

Descriptor matmul(const CudnnLibrary& library) {
  Descriptor result(library, DescriptorType::kMatmul);
  set_type(result, Attribute::kMatmulComputeType, abi::CudnnCalls::Type::kFloat);
  result.finish("a product");
  return result;
}

Descriptor reduction(const CudnnLibrary& library, const TensorGraph::Reduction& value) {
  Descriptor result(library, DescriptorType::kReduction);
  set_type(result, Attribute::kReductionComputeType, abi::CudnnCalls::Type::kFloat);
  result.set_enumerator(
      Attribute::kReductionOperator, ValueType::kReduction, static_cast<int>(value.reduction));
  result.finish("a reduction");
  return result;
}

Descriptor resample(const CudnnLibrary& library, const TensorGraph::Resample& value) {
  const bool is_max = value.mode == abi::CudnnCalls::ResampleMode::kMax;
  Descriptor result(library, DescriptorType::kResample);
  result.set_enumerator(
      Attribute::kResampleMode, ValueType::kResampleMode, static_cast<int>(value.mode));
  set_type(result, Attribute::kResampleComputeType, abi::CudnnCalls::Type::kFloat);
  result.set(Attribute::kResampleSpatialDimensions,
             static_cast<std::int64_t>(value.strides.size()));
  result.set_enumerator(Attribute::kResamplePaddingMode,
                        ValueType::kPaddingMode,
                        static_cast<int>(is_max ? abi::CudnnCalls::PaddingMode::kNegativeInfinity
                                                : abi::CudnnCalls::PaddingMode::kZero));
  result.set(Attribute::kResampleWindow, value.window);
  result.set(Attribute::kResampleStrides, value.strides);
  result.set(Attribute::kResamplePrePaddings, value.pads_before);
  result.set(Attribute::kResamplePostPaddings, value.pads_after);
  result.finish("a pool");
  return result;
}

/// Builder of a graph's operations and of all that they are made of.
class Assembly {
 public:
  Assembly(const CudnnLibrary& library, const TensorGraph& graph) : library_(library) {
    for (const TensorGraph::Tensor& value : graph.tensors) {
      tensors_.push_back(tensor(library, value, static_cast<std::int64_t>(tensors_.size()) + 1));
    }
    for (const TensorGraph::Operation& operation : graph.operations) {
      std::visit([this](const auto& value) { add(value); }, operation);
    }
  }

  OperationGraph finished(abi::DnnHandle handle) {
    OperationGraph result{std::move(parts_), Descriptor(library_, DescriptorType::kOperationGraph)};
    if (handle != nullptr) {
      result.graph.set_handle(Attribute::kGraphHandle, handle);
    }
    result.graph.set(Attribute::kGraphOperations, operations_);
    result.graph.finish("the operation graph");
    for (std::vector<Descriptor>* const made : {&tensors_, &operations_}) {
      std::move(made->begin(), made->end(), std::back_inserter(result.parts));
    }
    return result;
  }

 private:
  void add(const TensorGraph::Convolution& value) {
    const ConvolutionNames& names = names_of(value.direction);
    Descriptor& operation = operations_.emplace_back(library_, names.type);
    parts_.push_back(convolution(library_, value));
    operation.set(names.convolution, parts_.back());
    operation.set(names.image, tensors_[value.image]);
    operation.set(names.weights, tensors_[value.weights]);
    operation.set(names.grid, tensors_[value.grid]);
    operation.set(names.alpha, 1.0F);
    operation.set(names.beta, 0.0F);
    operation.finish("the convolution operation");
  }

  void add(const TensorGraph::Pointwise& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kPointwiseOperation);
    parts_.push_back(pointwise(library_, value));
    operation.set(Attribute::kStepPointwise, parts_.back());
    operation.set(Attribute::kStepInput, tensors_[value.input]);
    if (value.operand) {
      operation.set(Attribute::kStepOperand, tensors_[*value.operand]);
    }
    if (value.condition) {
      operation.set(Attribute::kStepCondition, tensors_[*value.condition]);
    }
    operation.set(Attribute::kStepOutput, tensors_[value.output]);
    operation.finish("a fused operation");
  }

  void add(const TensorGraph::Matmul& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kMatmulOperation);
    parts_.push_back(matmul(library_));
    operation.set(Attribute::kMatmulDescription, parts_.back());
    operation.set(Attribute::kMatmulLeft, tensors_[value.left]);
    operation.set(Attribute::kMatmulRight, tensors_[value.right]);
    operation.set(Attribute::kMatmulOutput, tensors_[value.output]);
    operation.finish("a product's operation");
  }

  void add(const TensorGraph::Reduction& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kReductionOperation);
    parts_.push_back(reduction(library_, value));
    operation.set(Attribute::kReductionDescription, parts_.back());
    operation.set(Attribute::kReductionInput, tensors_[value.input]);
    operation.set(Attribute::kReductionOutput, tensors_[value.output]);
    operation.finish("a reduction's operation");
  }

  void add(const TensorGraph::Resample& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kResampleForward);
    parts_.push_back(resample(library_, value));
    operation.set(Attribute::kResampleDescription, parts_.back());
    operation.set(Attribute::kResampleInput, tensors_[value.input]);
    operation.set(Attribute::kResampleOutput, tensors_[value.output]);
    operation.finish("a pool's operation");
  }

  void add(const TensorGraph::Reshape& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kReshapeOperation);
    operation.set(Attribute::kReshapeInput, tensors_[value.input]);
    operation.set(Attribute::kReshapeOutput, tensors_[value.output]);
    operation.finish("a reshape's operation");
  }

  void add(const TensorGraph::Norm& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kNormForward);
    operation.set_enumerator(
        Attribute::kNormMode, ValueType::kNormMode, static_cast<int>(value.mode));
    operation.set_enumerator(Attribute::kNormPhase,
                             ValueType::kNormPhase,
                             static_cast<int>(abi::CudnnCalls::NormPhase::kInference));
    operation.set(Attribute::kNormInput, tensors_[value.input]);
    operation.set(Attribute::kNormScale, tensors_[value.scale]);
    operation.set(Attribute::kNormBias, tensors_[value.bias]);
    operation.set(Attribute::kNormEpsilon, tensors_[value.epsilon]);
    operation.set(Attribute::kNormOutput, tensors_[value.output]);
    operation.finish("a normalisation");
  }

  void add(const TensorGraph::NormGradient& value) {
    Descriptor& operation = operations_.emplace_back(library_, DescriptorType::kNormBackward);
    operation.set_enumerator(
        Attribute::kNormGradientMode, ValueType::kNormMode, static_cast<int>(value.mode));
    operation.set(Attribute::kNormGradientInput, tensors_[value.input]);
    operation.set(Attribute::kNormGradientMean, tensors_[value.mean]);
    operation.set(Attribute::kNormGradientInverseDeviation, tensors_[value.inverse_deviation]);
    operation.set(Attribute::kNormGradientOutputGradient, tensors_[value.gradient]);
    operation.set(Attribute::kNormGradientScale, tensors_[value.scale]);
    operation.set(Attribute::kNormGradientScaleGradient, tensors_[value.scale_gradient]);
    operation.set(Attribute::kNormGradientBiasGradient, tensors_[value.bias_gradient]);
    operation.set(Attribute::kNormGradientInputGradient, tensors_[value.output]);
    operation.finish("a normalisation's gradient");
  }

  const CudnnLibrary& library_;
  std::vector<Descriptor> parts_;
  std::vector<Descriptor> tensors_;
  std::vector<Descriptor> operations_;
};

}  // namespace

OperationGraph operation_graph(const CudnnLibrary& library,
                               const TensorGraph& graph,
                               abi::DnnHandle handle) {
  return Assembly(library, graph).finished(handle);
}

}  // namespace plumb::cuda
