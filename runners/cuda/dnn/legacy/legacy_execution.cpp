// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

int rank_of(const LegacyTensor& tensor) {
  return static_cast<int>(tensor.dimensions.size());
}

}  // namespace

LegacyExecution::LegacyExecution(const CudnnLibrary& library, LegacyCall call)
    : library_(library), calls_(library.legacy_calls()), call_(std::move(call)) {
  require(calls_.set_tensor, "cudnnSetTensorNdDescriptor");
  std::visit([this](const auto& value) { make(value); }, call_);
}

void LegacyExecution::refuse(const char* name) {
  throw Unsupported(fmt::format("this cuDNN has no {}", name));
}

void LegacyExecution::make_descriptor(abi::LegacyCalls::Create create,
                                      abi::LegacyCalls::Destroy destroy) {
  abi::LegacyDescriptor handle = nullptr;
  library_.check(create(&handle), "a descriptor");
  descriptors_.emplace_back(handle, destroy);
}

void LegacyExecution::make_tensor(const LegacyTensor& tensor) {
  make_descriptor(calls_.create_tensor, calls_.destroy_tensor);
  library_.check(calls_.set_tensor(descriptors_.back().get(),
                                   tensor.type,
                                   rank_of(tensor),
                                   tensor.dimensions.data(),
                                   tensor.strides.data()),
                 "a tensor");
}

void LegacyExecution::make_activation(const LegacyActivation& activation) {
  require(calls_.set_activation, "cudnnSetActivationDescriptor");
  make_descriptor(calls_.create_activation, calls_.destroy_activation);
  library_.check(calls_.set_activation(descriptors_.back().get(),
                                       activation.mode,
                                       abi::kLegacyPropagateNan,
                                       activation.coefficient),
                 "an activation");
}

void LegacyExecution::check_extents(const std::vector<int>& counted,
                                    const LegacyTensor& result) const {
  if (counted != result.dimensions) {
    throw Unsupported(fmt::format("cuDNN computes a result of [{}] where the layer has [{}]",
                                  fmt::join(counted, ","),
                                  fmt::join(result.dimensions, ",")));
  }
}

void LegacyExecution::make(const LegacyConvolution& call) {
  require(calls_.convolution, "cudnnConvolutionForward");
  require(calls_.convolution_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  make_tensor(call.x);
  make_descriptor(calls_.create_filter, calls_.destroy_filter);
  library_.check(
      calls_.set_filter(at(1), call.w.type, call.format, rank_of(call.w), call.w.dimensions.data()),
      "a filter");
  make_descriptor(calls_.create_convolution, calls_.destroy_convolution);
  library_.check(calls_.set_convolution(at(2),
                                        static_cast<int>(call.pads.size()),
                                        call.pads.data(),
                                        call.strides.data(),
                                        call.dilations.data(),
                                        abi::ConvolutionMode::kCrossCorrelation,
                                        abi::Type::kFloat),
                 "a convolution");
  library_.check(calls_.set_groups(at(2), call.groups), "a convolution's groups");
  library_.check(calls_.set_math(at(2), call.math), "a convolution's precision");
  make_tensor(call.y);
  if (calls_.convolution_extents != nullptr) {
    std::vector<int> counted(call.y.dimensions.size());
    library_.check(calls_.convolution_extents(at(2), at(0), at(1), rank_of(call.y), counted.data()),
                   "a convolution's extents");
    check_extents(counted, call.y);
  }
  if (call.bias) {
    require(calls_.fused_convolution, "cudnnConvolutionBiasActivationForward");
    make_tensor(*call.bias);
    make_activation(call.activation);
  }
}

void LegacyExecution::make(const LegacyPool& call) {
  require(calls_.pool, "cudnnPoolingForward");
  make_tensor(call.x);
  make_tensor(call.y);
  make_descriptor(calls_.create_pool, calls_.destroy_pool);
  library_.check(calls_.set_pool(at(2),
                                 call.mode,
                                 abi::kLegacyPropagateNan,
                                 static_cast<int>(call.window.size()),
                                 call.window.data(),
                                 call.pads.data(),
                                 call.strides.data()),
                 "a pool");
  if (calls_.pool_extents != nullptr) {
    std::vector<int> counted(call.y.dimensions.size());
    library_.check(calls_.pool_extents(at(2), at(0), rank_of(call.y), counted.data()),
                   "a pool's extents");
    check_extents(counted, call.y);
  }
}

void LegacyExecution::make(const LegacySoftmax& call) {
  require(calls_.softmax, "cudnnSoftmaxForward");
  make_tensor(call.x);
  make_tensor(call.y);
}

void LegacyExecution::make(const LegacyResponse& call) {
  require(calls_.response, "cudnnLRNCrossChannelForward");
  make_tensor(call.x);
  make_tensor(call.y);
  make_descriptor(calls_.create_response, calls_.destroy_response);
  library_.check(calls_.set_response(at(2), call.size, call.alpha, call.beta, call.bias),
                 "a response normalisation");
}

void LegacyExecution::make(const LegacyBatchNorm& call) {
  require(calls_.batch_norm, "cudnnBatchNormalizationForwardInference");
  make_tensor(call.x);
  make_tensor(call.y);
  make_tensor(call.parameters);
}

void LegacyExecution::make(const LegacyFunction& call) {
  require(calls_.activation, "cudnnActivationForward");
  make_tensor(call.x);
  make_tensor(call.y);
  make_activation(call.activation);
}

void LegacyExecution::make(const LegacyBinary& call) {
  require(calls_.operation, "cudnnOpTensor");
  make_tensor(call.a);
  make_tensor(call.b);
  make_tensor(call.y);
  make_descriptor(calls_.create_operation, calls_.destroy_operation);
  library_.check(
      calls_.set_operation(at(3), call.operation, abi::Type::kFloat, abi::kLegacyPropagateNan),
      "an operation");
}

}  // namespace plumb::cuda
