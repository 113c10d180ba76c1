// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runners/cuda/driver/device_context.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_compiler.hpp"
#include "runners/cuda/exec/kernel_launch.hpp"

namespace plumb::cuda {

/// Built-in kernels compiled for one GPU, each at its first use. The context must outlive it.
class KernelLibrary {
 public:
  explicit KernelLibrary(const DeviceContext& context) : context_(context) {}
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;
  KernelLibrary(KernelLibrary&&) = delete;
  KernelLibrary& operator=(KernelLibrary&&) = delete;

  /// Makes the step of a launch, and compiles its kernel unless that is done. `buffers` maps the
  /// launch's operands to the plan's. Throws Unsupported if there is no compiler, or with its
  /// message.
  [[nodiscard]] DeviceStep step(const KernelLaunch& launch,
                                const std::vector<std::size_t>& buffers);

  /// Throws Unsupported if there is no compiler.
  void require_compiler();
  /// Returns ten times the GPU's compute capability: 89 is 8.9.
  [[nodiscard]] int architecture() const { return context_.device().architecture(); }
  /// Returns the compiler's version, such as "13.0", or why there is no compiler.
  [[nodiscard]] std::string compiler_version();

 private:
  [[nodiscard]] abi::Function function(const KernelLaunch& launch);

  const DeviceContext& context_;
  std::optional<KernelCompiler> compiler_;
  std::string missing_;  // why there is no compiler
  std::map<std::string, std::pair<abi::Module, abi::Function>> kernels_;  // by call and shape
};

}  // namespace plumb::cuda
