// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/cuda_backend.hpp"
#include "tests/support/cuda_driver/control.hpp"

namespace plumb::stand_in {

/// The real CUDA backend over the test doubles of NVIDIA's driver and libraries.
class StandInBackend {
 public:
  StandInBackend() : device_(driver_), library_({"libcudnn.so.9"}), backend_(library_, device_) {}

  [[nodiscard]] cuda::CudaBackend& get() { return backend_; }

 private:
  cuda::Driver driver_;
  cuda::Device device_;
  cuda::CudnnLibrary library_;
  cuda::CudaBackend backend_;
};

}  // namespace plumb::stand_in
