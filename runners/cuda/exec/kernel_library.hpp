// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/compiler_abi.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Built-in kernels compiled for one GPU, each at its first use. The context must outlive it.
class KernelLibrary {
 public:
  /// NVIDIA's run-time compiler (NVRTC), loaded by name. Needs neither a device nor a driver.
  class Compiler {
   public:
    /// Loads the first of the names that the loader finds. The default names are found in the
    /// stack's folders or the system. Throws Error{kEnvironment} that says how to get it.
    explicit Compiler(const std::vector<std::string>& names = default_names());

    /// Compiles kernels for a GPU's architecture (90: sm_90) into what a driver loads. For an
    /// architecture that is newer than the compiler, that is PTX of the newest that it knows.
    /// Throws Unsupported with the compiler's message.
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

  explicit KernelLibrary(const Device::Context& context) : context_(context) {}
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

  const Device::Context& context_;
  std::optional<Compiler> compiler_;
  std::string missing_;  // why there is no compiler
  std::map<std::string, std::pair<abi::Module, abi::Function>> kernels_;  // by call and shape
};

}  // namespace plumb::cuda
