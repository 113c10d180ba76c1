// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_libraries/cudnn_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <stdexcept>

#include "runners/cuda/dnn/graph_variants.hpp"
#include "tests/unit/cuda/graph_arithmetic.hpp"

namespace plumb::stand_in {
namespace {

using Attribute = cuda::abi::CudnnCalls::Attribute;
using DescriptorType = cuda::abi::CudnnCalls::DescriptorType;

model::DataType data_type(cuda::abi::CudnnCalls::Type type) {
  switch (type) {
    case cuda::abi::CudnnCalls::Type::kHalf:
      return model::DataType::kF16;
    case cuda::abi::CudnnCalls::Type::kBfloat16:
      return model::DataType::kBf16;
    case cuda::abi::CudnnCalls::Type::kInt8:
      return model::DataType::kS8;
    case cuda::abi::CudnnCalls::Type::kInt32:
      return model::DataType::kS32;
    case cuda::abi::CudnnCalls::Type::kBoolean:
      return model::DataType::kBool;
    case cuda::abi::CudnnCalls::Type::kFloat:
      break;
  }
  return model::DataType::kF32;
}

/// Reader of one operation graph.
class Reader {
 public:
  std::shared_ptr<const DnnPlan> read(const DnnDescriptor& graph) {
    const auto& operations = graph.values.at(Attribute::kGraphOperations).parts;
    for (const auto& operation : operations) {
      for (const auto& [name, value] : operation->values) {
        for (const auto& part : value.parts) {
          if (part->type == DescriptorType::kTensor) {
            tensors_.emplace(part->number<std::int64_t>(Attribute::kTensorId), part.get());
          }
        }
      }
    }
    for (const auto& [id, tensor] : tensors_) {
      add_tensor(id, *tensor);
    }
    for (const auto& operation : operations) {
      add(*operation);
    }
    // What no operation makes is an operand.
    std::size_t operands = 0;
    std::size_t results = 0;
    for (std::size_t i = 0; i < plan_->graph.tensors.size(); ++i) {
      cuda::TensorGraph::Tensor& tensor = plan_->graph.tensors[i];
      if (tensor.is_virtual || plan_->by_value[i]) {
        continue;
      }
      if (made_.contains(i)) {
        tensor.result = results++;
      } else {
        tensor.operand = operands++;
      }
    }
    return plan_;
  }

 private:
  void add_tensor(std::int64_t id, const DnnDescriptor& descriptor) {
    cuda::TensorGraph::Tensor& tensor = plan_->graph.tensors.emplace_back();
    tensor.type = descriptor.number<cuda::abi::CudnnCalls::Type>(Attribute::kTensorDataType);
    tensor.dimensions = descriptor.numbers<std::int64_t>(Attribute::kTensorDimensions);
    tensor.strides = descriptor.numbers<std::int64_t>(Attribute::kTensorStrides);
    tensor.is_virtual = descriptor.has(Attribute::kTensorIsVirtual) &&
                        descriptor.number<bool>(Attribute::kTensorIsVirtual);
    plan_->by_value.push_back(descriptor.has(Attribute::kTensorIsByValue) &&
                              descriptor.number<bool>(Attribute::kTensorIsByValue));
    plan_->alignments.push_back(
        static_cast<std::size_t>(descriptor.number<std::int64_t>(Attribute::kTensorAlignment)));
    plan_->ids.push_back(id);
    indices_[id] = plan_->ids.size() - 1;
  }

  [[nodiscard]] std::size_t tensor(const DnnDescriptor& operation, Attribute name) const {
    return indices_.at(operation.part(name).number<std::int64_t>(Attribute::kTensorId));
  }
  std::size_t result(const DnnDescriptor& operation, Attribute name) {
    const std::size_t index = tensor(operation, name);
    made_.insert(index);
    return index;
  }

  void add(const DnnDescriptor& operation) {
    switch (operation.type) {
      case DescriptorType::kConvolutionForward:
      case DescriptorType::kConvolutionBackwardData:
      case DescriptorType::kConvolutionBackwardWeights:
        add_convolution(operation);
        break;
      case DescriptorType::kPointwiseOperation:
        add_pointwise(operation);
        break;
      case DescriptorType::kMatmulOperation:
        plan_->graph.operations.emplace_back(
            cuda::TensorGraph::Matmul{tensor(operation, Attribute::kMatmulLeft),
                                      tensor(operation, Attribute::kMatmulRight),
                                      result(operation, Attribute::kMatmulOutput)});
        break;
      case DescriptorType::kReductionOperation:
        plan_->graph.operations.emplace_back(cuda::TensorGraph::Reduction{
            operation.part(Attribute::kReductionDescription)
                .number<cuda::abi::CudnnCalls::Reduction>(Attribute::kReductionOperator),
            tensor(operation, Attribute::kReductionInput),
            result(operation, Attribute::kReductionOutput)});
        break;
      case DescriptorType::kReshapeOperation:
        plan_->graph.operations.emplace_back(
            cuda::TensorGraph::Reshape{tensor(operation, Attribute::kReshapeInput),
                                       result(operation, Attribute::kReshapeOutput)});
        break;
      case DescriptorType::kNormForward:
        plan_->graph.operations.emplace_back(cuda::TensorGraph::Norm{
            operation.number<cuda::abi::CudnnCalls::NormMode>(Attribute::kNormMode),
            tensor(operation, Attribute::kNormInput),
            tensor(operation, Attribute::kNormScale),
            tensor(operation, Attribute::kNormBias),
            tensor(operation, Attribute::kNormEpsilon),
            result(operation, Attribute::kNormOutput)});
        break;
      case DescriptorType::kNormBackward:
        plan_->graph.operations.emplace_back(cuda::TensorGraph::NormGradient{
            operation.number<cuda::abi::CudnnCalls::NormMode>(Attribute::kNormGradientMode),
            tensor(operation, Attribute::kNormGradientOutputGradient),
            tensor(operation, Attribute::kNormGradientInput),
            tensor(operation, Attribute::kNormGradientScale),
            tensor(operation, Attribute::kNormGradientMean),
            tensor(operation, Attribute::kNormGradientInverseDeviation),
            result(operation, Attribute::kNormGradientInputGradient),
            result(operation, Attribute::kNormGradientScaleGradient),
            result(operation, Attribute::kNormGradientBiasGradient)});
        break;
      default:
        throw std::runtime_error("no operation");
    }
  }

  void add_convolution(const DnnDescriptor& operation) {
    using Direction = cuda::TensorGraph::Convolution::Direction;
    cuda::TensorGraph::Convolution value;
    const DnnDescriptor* description = nullptr;
    if (operation.type == DescriptorType::kConvolutionForward) {
      description = &operation.part(Attribute::kForwardConvolution);
      value.image = tensor(operation, Attribute::kForwardInput);
      value.weights = tensor(operation, Attribute::kForwardWeights);
      value.grid = result(operation, Attribute::kForwardOutput);
    } else if (operation.type == DescriptorType::kConvolutionBackwardData) {
      value.direction = Direction::kBackwardData;
      description = &operation.part(Attribute::kBackwardDataConvolution);
      value.image = result(operation, Attribute::kBackwardDataInputGradient);
      value.weights = tensor(operation, Attribute::kBackwardDataWeights);
      value.grid = tensor(operation, Attribute::kBackwardDataOutputGradient);
    } else {
      value.direction = Direction::kBackwardWeights;
      description = &operation.part(Attribute::kBackwardWeightsConvolution);
      value.image = tensor(operation, Attribute::kBackwardWeightsInput);
      value.weights = result(operation, Attribute::kBackwardWeightsGradient);
      value.grid = tensor(operation, Attribute::kBackwardWeightsOutputGradient);
    }
    value.strides = description->numbers<std::int64_t>(Attribute::kConvolutionStrides);
    value.dilations = description->numbers<std::int64_t>(Attribute::kConvolutionDilations);
    value.pads_before = description->numbers<std::int64_t>(Attribute::kConvolutionPrePaddings);
    value.pads_after = description->numbers<std::int64_t>(Attribute::kConvolutionPostPaddings);
    plan_->graph.operations.emplace_back(std::move(value));
  }

  void add_pointwise(const DnnDescriptor& operation) {
    const DnnDescriptor& description = operation.part(Attribute::kStepPointwise);
    cuda::TensorGraph::Pointwise value;
    value.mode =
        description.number<cuda::abi::CudnnCalls::PointwiseMode>(Attribute::kPointwiseMode);
    value.input = tensor(operation, Attribute::kStepInput);
    if (operation.has(Attribute::kStepOperand)) {
      value.operand = tensor(operation, Attribute::kStepOperand);
    }
    if (operation.has(Attribute::kStepCondition)) {
      value.condition = tensor(operation, Attribute::kStepCondition);
    }
    if (description.has(Attribute::kPointwiseAxis)) {
      value.axis = description.number<std::int64_t>(Attribute::kPointwiseAxis);
    }
    if (description.has(Attribute::kPointwiseReluUpperClip)) {
      value.upper_clip = description.number<double>(Attribute::kPointwiseReluUpperClip);
    }
    if (description.has(Attribute::kPointwiseReluLowerClipSlope)) {
      value.lower_clip_slope = description.number<double>(Attribute::kPointwiseReluLowerClipSlope);
    }
    if (description.has(Attribute::kPointwiseEluAlpha)) {
      value.elu_alpha = description.number<double>(Attribute::kPointwiseEluAlpha);
    }
    value.output = result(operation, Attribute::kStepOutput);
    plan_->graph.operations.emplace_back(std::move(value));
  }

  std::shared_ptr<DnnPlan> plan_ = std::make_shared<DnnPlan>();
  std::map<std::int64_t, const DnnDescriptor*> tensors_;
  std::map<std::int64_t, std::size_t> indices_;
  std::set<std::size_t> made_;
};

model::TensorType span_of(const cuda::TensorGraph::Tensor& tensor) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < tensor.dimensions.size(); ++axis) {
    last += (tensor.dimensions[axis] - 1) * tensor.strides[axis];
  }
  model::TensorType type;
  type.dtype = data_type(tensor.type);
  type.dims = {last + 1};
  return type;
}

/// Computes the graph on the memory of its operands, each a row of its numbers.
void compute(cuda::GraphForm form, const std::vector<void*>& addresses) {
  std::vector<model::TensorType> results;
  std::vector<model::Tensor> operands;
  std::vector<void*> places;
  for (std::size_t i = 0; i < form.graph.tensors.size(); ++i) {
    const cuda::TensorGraph::Tensor& tensor = form.graph.tensors[i];
    const model::TensorType type = span_of(tensor);
    if (tensor.operand) {
      const auto* const begin = static_cast<const std::byte*>(addresses[i]);
      operands.push_back({type, {begin, begin + model::byte_size(type).value}});
      form.inputs.push_back(cuda::TensorLayout::kChannelsFirst);
    } else if (tensor.is_result()) {
      results.push_back(type);
      places.push_back(addresses[i]);
    }
  }
  for (const auto& [result, tensor] : cuda::computed(form, results, operands)) {
    std::memcpy(places.at(result), tensor.data.data(), tensor.data.size());
  }
}

}  // namespace

std::shared_ptr<const DnnPlan> read_plan(const DnnDescriptor& operation_graph) {
  return Reader().read(operation_graph);
}

int execute_plan(const std::shared_ptr<const DnnPlan>& plan,
                 const std::map<std::int64_t, void*>& pointers,
                 void* workspace,
                 std::size_t workspace_bytes,
                 void* stream) {
  if (const int status = control().library_call("cudnnBackendExecute"); status != 0) {
    return status;
  }
  cuda::GraphForm form;
  form.graph = plan->graph;
  std::vector<void*> addresses(plan->ids.size(), nullptr);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < plan->ids.size(); ++i) {
    cuda::TensorGraph::Tensor& tensor = form.graph.tensors[i];
    if (tensor.is_virtual) {
      continue;
    }
    const auto at = pointers.find(plan->ids[i]);
    if (at == pointers.end() || at->second == nullptr) {
      return kDnnBadParam;
    }
    if (plan->by_value[i]) {
      tensor.value = *static_cast<const float*>(at->second);
      continue;
    }
    if (std::bit_cast<std::uint64_t>(at->second) % plan->alignments[i] != 0) {
      return kDnnBadParam;
    }
    addresses[i] = at->second;
    ranges.push_back({at->second,
                      static_cast<std::size_t>(model::byte_size(span_of(tensor)).value),
                      tensor.is_result()});
  }
  if (workspace_bytes > 0) {
    if (workspace == nullptr) {
      return kDnnBadParam;
    }
    ranges.push_back({workspace, workspace_bytes, true});
  }
  const int status = control().enqueue(
      stream, "a plan of cuDNN", std::move(ranges), [form, addresses, workspace, workspace_bytes] {
        if (workspace_bytes > 0) {
          std::memset(workspace, 0xff, workspace_bytes);
        }
        compute(form, addresses);
      });
  return status == 0 ? 0 : kDnnExecutionFailed;
}

}  // namespace plumb::stand_in
