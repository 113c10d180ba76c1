// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {

/// Layer as one of cuDNN's older calls, with its descriptors. Making it needs no device. The
/// library must outlive it.
class LegacyExecution {
 public:
  /// Handle, algorithm, buffers and workspace with which a call is started.
  struct Invocation {
    abi::DnnHandle handle = nullptr;
    int algorithm = 0;                            ///< of a convolution or its gradient
    std::span<const abi::DevicePointer> buffers;  ///< the plan's
    void* workspace = nullptr;
    std::size_t workspace_bytes = 0;

    [[nodiscard]] void* at(const LegacyCall::Tensor& tensor) const;
    [[nodiscard]] void* at(std::size_t buffer) const;
  };

  /// Makes the descriptors. Throws Unsupported if this cuDNN lacks a call, or counts other extents
  /// of the result. Throws CudnnLibrary::Refusal with cuDNN's message.
  LegacyExecution(const CudnnLibrary& library, LegacyCall::Any call);

  /// Returns how many bytes of workspace an algorithm of a convolution or its gradient needs. All
  /// other calls need none. Throws CudnnLibrary::Refusal if the algorithm does not apply to the
  /// layer.
  [[nodiscard]] std::size_t workspace(const CudnnLibrary::Handle& handle, int algorithm) const;

  /// Starts the call in the stream of the invocation's handle. Throws CudnnLibrary::Refusal.
  void run(const Invocation& to) const;

 private:
  static constexpr float kOne = 1.0F;
  static constexpr float kZero = 0.0F;

  void make(const LegacyCall::Convolution& call);
  void make(const LegacyCall::Pool& call);
  void make(const LegacyCall::Softmax& call);
  void make(const LegacyCall::Response& call);
  void make(const LegacyCall::BatchNorm& call);
  void make(const LegacyCall::Function& call);
  void make(const LegacyCall::Binary& call);
  void make(const LegacyCall::ConvolutionGradient& call);
  void make(const LegacyCall::PoolGradient& call);
  void make(const LegacyCall::SoftmaxGradient& call);
  void make(const LegacyCall::FunctionGradient& call);
  int start(const LegacyCall::Convolution& call, const Invocation& to) const;
  int start(const LegacyCall::Pool& call, const Invocation& to) const;
  int start(const LegacyCall::Softmax& call, const Invocation& to) const;
  int start(const LegacyCall::Response& call, const Invocation& to) const;
  int start(const LegacyCall::BatchNorm& call, const Invocation& to) const;
  int start(const LegacyCall::Function& call, const Invocation& to) const;
  int start(const LegacyCall::Binary& call, const Invocation& to) const;
  int start(const LegacyCall::ConvolutionGradient& call, const Invocation& to) const;
  int start(const LegacyCall::PoolGradient& call, const Invocation& to) const;
  int start(const LegacyCall::SoftmaxGradient& call, const Invocation& to) const;
  int start(const LegacyCall::FunctionGradient& call, const Invocation& to) const;
  void make_tensor(const LegacyCall::Tensor& tensor);
  void make_activation(const LegacyCall::Activation& activation);
  void make_descriptor(abi::LegacyCalls::Create create, abi::LegacyCalls::Destroy destroy);
  /// Throws Unsupported if this cuDNN lacks a call.
  template <typename Function>
  static void require(Function function, const char* name) {
    if (function == nullptr) {
      refuse(name);
    }
  }
  [[noreturn]] static void refuse(const char* name);
  void check_extents(const std::vector<int>& counted, const LegacyCall::Tensor& result) const;
  [[nodiscard]] abi::LegacyDescriptor at(std::size_t index) const {
    return descriptors_[index].get();
  }

  const CudnnLibrary& library_;
  const abi::LegacyCalls& calls_;
  LegacyCall::Any call_;
  std::vector<DynamicLibrary::Owned> descriptors_;  // in the order in which make() makes them
};

}  // namespace plumb::cuda
