// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Executes launches of our kernels on the host: the text that NVRTC gets is compiled by the
/// system's C++ compiler, all kernels at once, with threads of the host for those of a block.
/// Shared memory holds no numbers when a block begins. Under the thread sanitizer, so are the
/// kernels.
class HostKernels {
 public:
  HostKernels() = default;
  ~HostKernels();
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;
  HostKernels(HostKernels&&) = delete;
  HostKernels& operator=(HostKernels&&) = delete;

  /// Notes a kernel that will be run.
  void add(const KernelLaunch& launch);
  /// Notes kernels and makes steps that run them, once they are compiled.
  [[nodiscard]] KernelStep steps();
  /// Compiles all that were noted. Throws std::runtime_error with the compiler's words.
  void compile();
  /// Runs a launch; addresses are the host's, one for each of its operands.
  void run(const KernelLaunch& launch, std::span<const abi::DevicePointer> addresses) const;
  /// Runs only the launch's blocks from `first` up to `end`.
  void run_blocks(const KernelLaunch& launch,
                  std::span<const abi::DevicePointer> addresses,
                  unsigned first,
                  unsigned end) const;

 private:
  std::map<std::string, std::pair<std::size_t, std::string>> kernels_;  // number and text
  void* library_ = nullptr;
};

/// Layer to be executed by our kernels on the host.
struct HostLayer {
  model::LayerSpec spec;
  BuiltinLayer layer;
  std::vector<model::Tensor> operands;
};

/// Executes the layers' launches with operands and results laid out as the layers want them.
/// Returns the outputs of each, dense.
[[nodiscard]] std::vector<std::vector<model::Tensor>> run_on_host(
    const std::vector<HostLayer>& layers);

}  // namespace plumb::cuda
