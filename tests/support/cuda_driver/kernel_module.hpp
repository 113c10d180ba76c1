// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/cuda_driver/operation.hpp"

namespace plumb::stand_in {

/// First bytes of an image that the stand-in of NVRTC makes. The path of a shared library follows,
/// and the names of its kernels, one a line. Without a path the kernels can be named, not launched.
inline constexpr const char* kImageMagic = "plumb stand-in image\n";

/// One kernel as the system's compiler compiled it.
struct KernelFunction {
  std::string name;
  void (*run)(void** parameters) = nullptr;  ///< null: it is only named
  void* (*places)() = nullptr;               ///< the calling thread's Places
  std::vector<std::size_t> parameter_bytes;
  bool loaded = true;
};

/// Kernels of one image.
struct KernelModule {
  void* library = nullptr;
  std::map<std::string, std::unique_ptr<KernelFunction>> functions;
};

/// Loads an image. Null: it is none, or the loader refuses it.
[[nodiscard]] std::unique_ptr<KernelModule> load_module(const char* image);

/// Returns the work of a launch.
[[nodiscard]] Operation kernel_operation(std::shared_ptr<Launch> launch);

}  // namespace plumb::stand_in
