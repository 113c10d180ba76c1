// SPDX-License-Identifier: Apache-2.0
// Gradients as older calls. But for softmax, they begin with the descriptors of their layer.
#include "runners/cuda/dnn/legacy/legacy_execution.hpp"

namespace plumb::cuda {

void LegacyExecution::make(const LegacyConvolutionGradient& call) {
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

int LegacyExecution::start(const LegacyConvolutionGradient& call,
                           const LegacyInvocation& to) const {
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

void LegacyExecution::make(const LegacyPoolGradient& call) {
  make(call.of);
  require(calls_.pool_backward, "cudnnPoolingBackward");
}

int LegacyExecution::start(const LegacyPoolGradient& call, const LegacyInvocation& to) const {
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

void LegacyExecution::make(const LegacySoftmaxGradient& call) {
  require(calls_.softmax_backward, "cudnnSoftmaxBackward");
  make_tensor(call.y);
}

int LegacyExecution::start(const LegacySoftmaxGradient& call, const LegacyInvocation& to) const {
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

void LegacyExecution::make(const LegacyFunctionGradient& call) {
  make(call.of);
  require(calls_.activation_backward, "cudnnActivationBackward");
}

int LegacyExecution::start(const LegacyFunctionGradient& call, const LegacyInvocation& to) const {
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
