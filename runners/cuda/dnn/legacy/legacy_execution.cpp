// SPDX-License-Identifier: Apache-2.0
// Each call has a make() and a start(), which finds the descriptors in the order in which make()
// made them.

#include "runners/cuda/dnn/legacy/legacy_execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

int rank_of(const LegacyCall::Tensor& tensor) {
  return static_cast<int>(tensor.dimensions.size());
}

}  // namespace

void* LegacyExecution::Invocation::at(const LegacyCall::Tensor& tensor) const {
  return at(tensor.buffer);
}

void* LegacyExecution::Invocation::at(std::size_t buffer) const {
  return abi::address_of(buffers[buffer]);
}

LegacyExecution::LegacyExecution(const CudnnLibrary& library, LegacyCall::Any call)
    : library_(library), calls_(library.legacy_calls()), call_(std::move(call)) {
  require(calls_.set_tensor, "cudnnSetTensorNdDescriptor");
  std::visit([this](const auto& value) { make(value); }, call_);
}

std::size_t LegacyExecution::workspace(const CudnnLibrary::Handle& handle, int algorithm) const {
  std::size_t bytes = 0;
  if (std::holds_alternative<LegacyCall::Convolution>(call_)) {
    library_.check(
        calls_.convolution_workspace(handle.get(), at(0), at(1), at(2), at(3), algorithm, &bytes),
        "an algorithm");
  } else if (const auto* const gradient = std::get_if<LegacyCall::ConvolutionGradient>(&call_)) {
    library_.check(
        gradient->by_weights
            ? calls_.weights_workspace(handle.get(), at(0), at(3), at(2), at(1), algorithm, &bytes)
            : calls_.data_workspace(handle.get(), at(1), at(3), at(2), at(0), algorithm, &bytes),
        "an algorithm");
  }
  return bytes;
}

void LegacyExecution::run(const LegacyExecution::Invocation& to) const {
  library_.check(std::visit([&](const auto& value) { return start(value, to); }, call_),
                 "an older call of cuDNN");
}

void LegacyExecution::refuse(const char* name) {
  throw Unsupported(fmt::format("this cuDNN has no {}", name));
}

void LegacyExecution::make_descriptor(abi::LegacyCalls::Create create,
                                      abi::LegacyCalls::Destroy destroy) {
  descriptors_.push_back(make_owned(library_, create, destroy, "a descriptor"));
}

void LegacyExecution::make_tensor(const LegacyCall::Tensor& tensor) {
  make_descriptor(calls_.create_tensor, calls_.destroy_tensor);
  library_.check(calls_.set_tensor(descriptors_.back().get(),
                                   tensor.type,
                                   rank_of(tensor),
                                   tensor.dimensions.data(),
                                   tensor.strides.data()),
                 "a tensor");
}

void LegacyExecution::make_activation(const LegacyCall::Activation& activation) {
  require(calls_.set_activation, "cudnnSetActivationDescriptor");
  make_descriptor(calls_.create_activation, calls_.destroy_activation);
  library_.check(calls_.set_activation(descriptors_.back().get(),
                                       activation.mode,
                                       abi::kLegacyPropagateNan,
                                       activation.coefficient),
                 "an activation");
}

void LegacyExecution::check_extents(const std::vector<int>& counted,
                                    const LegacyCall::Tensor& result) const {
  if (counted != result.dimensions) {
    throw Unsupported(fmt::format("cuDNN computes a result of [{}] where the layer has [{}]",
                                  fmt::join(counted, ","),
                                  fmt::join(result.dimensions, ",")));
  }
}

void LegacyExecution::make(const LegacyCall::Convolution& call) {
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
                                        abi::CudnnCalls::ConvolutionMode::kCrossCorrelation,
                                        abi::CudnnCalls::Type::kFloat),
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

int LegacyExecution::start(const LegacyCall::Convolution& call,
                           const LegacyExecution::Invocation& to) const {
  if (!call.bias) {
    return calls_.convolution(to.handle,
                              &kOne,
                              at(0),
                              to.at(call.x),
                              at(1),
                              to.at(call.w),
                              at(2),
                              to.algorithm,
                              to.workspace,
                              to.workspace_bytes,
                              &kZero,
                              at(3),
                              to.at(call.y));
  }
  // Without an addition, the call takes the result itself, times zero.
  return calls_.fused_convolution(to.handle,
                                  &kOne,
                                  at(0),
                                  to.at(call.x),
                                  at(1),
                                  to.at(call.w),
                                  at(2),
                                  to.algorithm,
                                  to.workspace,
                                  to.workspace_bytes,
                                  call.addend ? &kOne : &kZero,
                                  at(3),
                                  to.at(call.addend ? *call.addend : call.y),
                                  at(4),
                                  to.at(*call.bias),
                                  at(5),
                                  at(3),
                                  to.at(call.y));
}

void LegacyExecution::make(const LegacyCall::Pool& call) {
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

int LegacyExecution::start(const LegacyCall::Pool& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.pool(to.handle, at(2), &kOne, at(0), to.at(call.x), &kZero, at(1), to.at(call.y));
}

void LegacyExecution::make(const LegacyCall::Softmax& call) {
  require(calls_.softmax, "cudnnSoftmaxForward");
  make_tensor(call.x);
  make_tensor(call.y);
}

int LegacyExecution::start(const LegacyCall::Softmax& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.softmax(to.handle,
                        call.algorithm,
                        abi::kLegacySoftmaxOverChannels,
                        &kOne,
                        at(0),
                        to.at(call.x),
                        &kZero,
                        at(1),
                        to.at(call.y));
}

void LegacyExecution::make(const LegacyCall::Response& call) {
  require(calls_.response, "cudnnLRNCrossChannelForward");
  make_tensor(call.x);
  make_tensor(call.y);
  make_descriptor(calls_.create_response, calls_.destroy_response);
  library_.check(calls_.set_response(at(2), call.size, call.alpha, call.beta, call.bias),
                 "a response normalisation");
}

int LegacyExecution::start(const LegacyCall::Response& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.response(to.handle,
                         at(2),
                         abi::kLegacyResponseOverChannels,
                         &kOne,
                         at(0),
                         to.at(call.x),
                         &kZero,
                         at(1),
                         to.at(call.y));
}

void LegacyExecution::make(const LegacyCall::BatchNorm& call) {
  require(calls_.batch_norm, "cudnnBatchNormalizationForwardInference");
  make_tensor(call.x);
  make_tensor(call.y);
  make_tensor(call.parameters);
}

int LegacyExecution::start(const LegacyCall::BatchNorm& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.batch_norm(to.handle,
                           abi::kLegacyBatchNormSpatial,
                           &kOne,
                           &kZero,
                           at(0),
                           to.at(call.x),
                           at(1),
                           to.at(call.y),
                           at(2),
                           to.at(1),
                           to.at(2),
                           to.at(3),
                           to.at(4),
                           call.epsilon);
}

void LegacyExecution::make(const LegacyCall::Function& call) {
  require(calls_.activation, "cudnnActivationForward");
  make_tensor(call.x);
  make_tensor(call.y);
  make_activation(call.activation);
}

int LegacyExecution::start(const LegacyCall::Function& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.activation(
      to.handle, at(2), &kOne, at(0), to.at(call.x), &kZero, at(1), to.at(call.y));
}

void LegacyExecution::make(const LegacyCall::Binary& call) {
  require(calls_.operation, "cudnnOpTensor");
  make_tensor(call.a);
  make_tensor(call.b);
  make_tensor(call.y);
  make_descriptor(calls_.create_operation, calls_.destroy_operation);
  library_.check(
      calls_.set_operation(
          at(3), call.operation, abi::CudnnCalls::Type::kFloat, abi::kLegacyPropagateNan),
      "an operation");
}

int LegacyExecution::start(const LegacyCall::Binary& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.operation(to.handle,
                          at(3),
                          &kOne,
                          at(0),
                          to.at(call.a),
                          &kOne,
                          at(1),
                          to.at(call.b),
                          &kZero,
                          at(2),
                          to.at(call.y));
}

// Gradients as older calls. But for softmax, they begin with the descriptors of their layer.

void LegacyExecution::make(const LegacyCall::ConvolutionGradient& call) {
  make(call.of);
  if (call.by_weights) {
    require(calls_.convolution_weights, "cudnnConvolutionBackwardFilter");
    require(calls_.weights_workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  } else {
    require(calls_.convolution_data, "cudnnConvolutionBackwardData");
    require(calls_.data_workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  }
  if (call.bias_gradient) {
    require(calls_.convolution_bias, "cudnnConvolutionBackwardBias");
    make_tensor(*call.bias_gradient);
  }
}

int LegacyExecution::start(const LegacyCall::ConvolutionGradient& call,
                           const LegacyExecution::Invocation& to) const {
  if (call.bias_gradient) {
    const int status = calls_.convolution_bias(
        to.handle, &kOne, at(3), to.at(call.of.y), &kZero, at(4), to.at(*call.bias_gradient));
    if (status != abi::kSuccess) {
      return status;
    }
  }
  return call.by_weights ? calls_.convolution_weights(to.handle,
                                                      &kOne,
                                                      at(0),
                                                      to.at(call.of.x),
                                                      at(3),
                                                      to.at(call.of.y),
                                                      at(2),
                                                      to.algorithm,
                                                      to.workspace,
                                                      to.workspace_bytes,
                                                      &kZero,
                                                      at(1),
                                                      to.at(call.of.w))
                         : calls_.convolution_data(to.handle,
                                                   &kOne,
                                                   at(1),
                                                   to.at(call.of.w),
                                                   at(3),
                                                   to.at(call.of.y),
                                                   at(2),
                                                   to.algorithm,
                                                   to.workspace,
                                                   to.workspace_bytes,
                                                   &kZero,
                                                   at(0),
                                                   to.at(call.of.x));
}

void LegacyExecution::make(const LegacyCall::PoolGradient& call) {
  make(call.of);
  require(calls_.pool_backward, "cudnnPoolingBackward");
}

int LegacyExecution::start(const LegacyCall::PoolGradient& call,
                           const LegacyExecution::Invocation& to) const {
  const int status = call.makes_y ? start(call.of, to) : abi::kSuccess;
  if (status != abi::kSuccess) {
    return status;
  }
  return calls_.pool_backward(to.handle,
                              at(2),
                              &kOne,
                              at(1),
                              to.at(call.of.y),
                              at(1),
                              to.at(call.dy),
                              at(0),
                              to.at(call.of.x),
                              &kZero,
                              at(0),
                              to.at(call.dx));
}

void LegacyExecution::make(const LegacyCall::SoftmaxGradient& call) {
  require(calls_.softmax_backward, "cudnnSoftmaxBackward");
  make_tensor(call.y);
}

int LegacyExecution::start(const LegacyCall::SoftmaxGradient& call,
                           const LegacyExecution::Invocation& to) const {
  return calls_.softmax_backward(to.handle,
                                 call.algorithm,
                                 abi::kLegacySoftmaxOverChannels,
                                 &kOne,
                                 at(0),
                                 to.at(call.y),
                                 at(0),
                                 to.at(call.dy),
                                 &kZero,
                                 at(0),
                                 to.at(call.dx));
}

void LegacyExecution::make(const LegacyCall::FunctionGradient& call) {
  make(call.of);
  require(calls_.activation_backward, "cudnnActivationBackward");
}

int LegacyExecution::start(const LegacyCall::FunctionGradient& call,
                           const LegacyExecution::Invocation& to) const {
  const int status = call.makes_y ? start(call.of, to) : abi::kSuccess;
  if (status != abi::kSuccess) {
    return status;
  }
  return calls_.activation_backward(to.handle,
                                    at(2),
                                    &kOne,
                                    at(1),
                                    to.at(call.of.y),
                                    at(0),
                                    to.at(call.dy),
                                    at(0),
                                    to.at(call.of.x),
                                    &kZero,
                                    at(0),
                                    to.at(call.dx));
}

}  // namespace plumb::cuda
