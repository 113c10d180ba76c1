// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/driver/owned_descriptor.hpp"

namespace plumb::cuda {

/// Owner of cuDNN's handle of the current context. The library must outlive it.
class CudnnHandle {
 public:
  /// Creates the handle. Throws CudnnRefusal.
  explicit CudnnHandle(const CudnnLibrary& library);

  [[nodiscard]] abi::CudnnHandle get() const { return handle_.get(); }
  [[nodiscard]] const CudnnLibrary& library() const { return library_; }

  /// Makes calls with the handle go into a stream. Throws CudnnRefusal.
  void use(abi::Stream stream);
  /// Executes a plan on the operands of a pack in a stream. Throws CudnnRefusal.
  void execute(abi::Descriptor plan, abi::Descriptor pack, abi::Stream stream);

 private:
  const CudnnLibrary& library_;
  OwnedDescriptor handle_;
  abi::Stream stream_ = nullptr;  // that the handle was last given
};

}  // namespace plumb::cuda
