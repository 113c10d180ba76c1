// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/cuda/exec/compiler_abi.hpp"

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

  /// Compiles kernels as compile() does, and returns what the assembler says of each: its
  /// registers, stack and spills. Throws Unsupported, also for an architecture that is newer than
  /// the compiler.
  [[nodiscard]] std::string resource_report(const std::string& source, int architecture) const;

  [[nodiscard]] std::string version() const;
  [[nodiscard]] static std::vector<std::string> default_names();

 private:
  using OwnedProgram = std::unique_ptr<void, std::function<void(abi::CompilerProgram)>>;

  void check(int status, const char* what) const;
  /// Returns the option for an architecture, and whether it makes what the GPU itself executes.
  [[nodiscard]] std::pair<std::string, bool> target(int architecture) const;
  [[nodiscard]] OwnedProgram compiled(const std::string& source,
                                      const std::vector<const char*>& options) const;
  [[nodiscard]] std::string words(abi::CompilerProgram program) const;

  DynamicLibrary library_;
  abi::CompilerCalls calls_;
};

}  // namespace plumb::cuda
