// SPDX-License-Identifier: Apache-2.0
// Starts cuDNN's older calls. Each gets the descriptors in the order in which make() made them.
#include "runners/cuda/dnn/legacy/legacy_execution.hpp"

namespace plumb::cuda {
namespace {

constexpr float kOne = 1.0F;
constexpr float kZero = 0.0F;

}  // namespace

void* LegacyInvocation::at(const LegacyTensor& tensor) const {
  return at(tensor.buffer);
}

void* LegacyInvocation::at(std::size_t buffer) const {
  return abi::address_of(buffers[buffer]);
}

std::size_t LegacyExecution::workspace(const CudnnHandle& handle, int algorithm) const {
  std::size_t bytes = 0;
  if (std::holds_alternative<LegacyConvolution>(call_)) {
    library_.check(
        calls_.convolution_workspace(handle.get(), at(0), at(1), at(2), at(3), algorithm, &bytes),
        "an algorithm");
  } else if (const auto* const gradient = std::get_if<LegacyConvolutionGradient>(&call_)) {
    library_.check(
        gradient->by_weights
            ? calls_.weights_workspace(handle.get(), at(0), at(3), at(2), at(1), algorithm, &bytes)
            : calls_.data_workspace(handle.get(), at(1), at(3), at(2), at(0), algorithm, &bytes),
        "an algorithm");
  }
  return bytes;
}

void LegacyExecution::run(const LegacyInvocation& to) const {
  library_.check(std::visit([&](const auto& value) { return start(value, to); }, call_),
                 "an older call of cuDNN");
}

int LegacyExecution::start(const LegacyConvolution& call, const LegacyInvocation& to) const {
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

int LegacyExecution::start(const LegacyPool& call, const LegacyInvocation& to) const {
  return calls_.pool(to.handle, at(2), &kOne, at(0), to.at(call.x), &kZero, at(1), to.at(call.y));
}

int LegacyExecution::start(const LegacySoftmax& call, const LegacyInvocation& to) const {
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

int LegacyExecution::start(const LegacyResponse& call, const LegacyInvocation& to) const {
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

int LegacyExecution::start(const LegacyBatchNorm& call, const LegacyInvocation& to) const {
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

int LegacyExecution::start(const LegacyFunction& call, const LegacyInvocation& to) const {
  return calls_.activation(
      to.handle, at(2), &kOne, at(0), to.at(call.x), &kZero, at(1), to.at(call.y));
}

int LegacyExecution::start(const LegacyBinary& call, const LegacyInvocation& to) const {
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

}  // namespace plumb::cuda
