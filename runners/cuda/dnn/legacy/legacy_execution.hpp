// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {

/// Handle, algorithm, buffers and workspace with which a call is started.
struct LegacyInvocation {
  abi::DnnHandle handle = nullptr;
  int algorithm = 0;                            ///< of a convolution or its gradient
  std::span<const abi::DevicePointer> buffers;  ///< the plan's
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;

  [[nodiscard]] void* at(const LegacyTensor& tensor) const;
  [[nodiscard]] void* at(std::size_t buffer) const;
};

/// Layer as one of cuDNN's older calls, with its descriptors. Making it needs no device. The
/// library must outlive it.
class LegacyExecution {
 public:
  /// Makes the descriptors. Throws Unsupported if this cuDNN lacks a call, or counts other extents
  /// of the result. Throws CudnnRefusal with cuDNN's message.
  LegacyExecution(const CudnnLibrary& library, LegacyCall::Any call);

  /// Returns how many bytes of workspace an algorithm of a convolution or its gradient needs. All
  /// other calls need none. Throws CudnnRefusal if the algorithm does not apply to the layer.
  [[nodiscard]] std::size_t workspace(const CudnnHandle& handle, int algorithm) const;

  /// Starts the call in the stream of the invocation's handle. Throws CudnnRefusal.
  void run(const LegacyInvocation& to) const;

 private:
  static constexpr float kOne = 1.0F;
  static constexpr float kZero = 0.0F;

  void make(const LegacyConvolution& call);
  void make(const LegacyPool& call);
  void make(const LegacySoftmax& call);
  void make(const LegacyResponse& call);
  void make(const LegacyBatchNorm& call);
  void make(const LegacyFunction& call);
  void make(const LegacyBinary& call);
  void make(const LegacyConvolutionGradient& call);
  void make(const LegacyPoolGradient& call);
  void make(const LegacySoftmaxGradient& call);
  void make(const LegacyFunctionGradient& call);
  int start(const LegacyConvolution& call, const LegacyInvocation& to) const;
  int start(const LegacyPool& call, const LegacyInvocation& to) const;
  int start(const LegacySoftmax& call, const LegacyInvocation& to) const;
  int start(const LegacyResponse& call, const LegacyInvocation& to) const;
  int start(const LegacyBatchNorm& call, const LegacyInvocation& to) const;
  int start(const LegacyFunction& call, const LegacyInvocation& to) const;
  int start(const LegacyBinary& call, const LegacyInvocation& to) const;
  int start(const LegacyConvolutionGradient& call, const LegacyInvocation& to) const;
  int start(const LegacyPoolGradient& call, const LegacyInvocation& to) const;
  int start(const LegacySoftmaxGradient& call, const LegacyInvocation& to) const;
  int start(const LegacyFunctionGradient& call, const LegacyInvocation& to) const;
  void make_tensor(const LegacyTensor& tensor);
  void make_activation(const LegacyActivation& activation);
  void make_descriptor(abi::LegacyCalls::Create create, abi::LegacyCalls::Destroy destroy);
  /// Throws Unsupported if this cuDNN lacks a call.
  template <typename Function>
  static void require(Function function, const char* name) {
    if (function == nullptr) {
      refuse(name);
    }
  }
  [[noreturn]] static void refuse(const char* name);
  void check_extents(const std::vector<int>& counted, const LegacyTensor& result) const;
  [[nodiscard]] abi::LegacyDescriptor at(std::size_t index) const {
    return descriptors_[index].get();
  }

  const CudnnLibrary& library_;
  const abi::LegacyCalls& calls_;
  LegacyCall::Any call_;
  std::vector<OwnedDescriptor> descriptors_;  // in the order in which make() makes them
};

}  // namespace plumb::cuda
