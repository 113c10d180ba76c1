// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {

/// NVIDIA's run-time compiler (NVRTC), loaded by name. Needs neither a device nor a driver.
class KernelCompiler {
 public:
  /// Loads the first of the names that the loader finds. The default names are found in the stack's
  /// folders or the system. Throws Error{kEnvironment} that says how to get it.
  explicit KernelCompiler(const std::vector<std::string>& names = default_names());

  /// Compiles kernels for a GPU's architecture (90: sm_90) into what a driver loads. For an
  /// architecture that is newer than the compiler, that is PTX of the newest that it knows. Throws
  /// Unsupported with the compiler's message.
  [[nodiscard]] std::string compile(const std::string& source, int architecture) const;

  [[nodiscard]] std::string version() const;
  [[nodiscard]] static std::vector<std::string> default_names();

 private:
  using Program = void*;
  void check(int status, const char* what) const;

  DynamicLibrary library_;
  int (*version_)(int*, int*) = nullptr;
  int (*count_architectures_)(int*) = nullptr;
  int (*list_architectures_)(int*) = nullptr;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) =
      nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*log_size_)(Program, std::size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, std::size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
  int (*ptx_size_)(Program, std::size_t*) = nullptr;
  int (*ptx_)(Program, char*) = nullptr;
  const char* (*error_text_)(int) = nullptr;
};

}  // namespace plumb::cuda
