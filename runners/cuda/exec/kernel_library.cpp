// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/kernel_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

// -fmad stays on: a multiply-add that is rounded once is no less exact.
constexpr const char* kLanguage = "--std=c++17";

}  // namespace

KernelLibrary::Compiler::Compiler(const std::vector<std::string>& names)
    : library_(
          names,
          "built-in kernels need NVRTC: add the package nvidia-cuda-nvrtc to the stack (plumb "
          "stacks fetch … nvidia-cuda-nvrtc==13.0.88), or the folder of libnvrtc to its folders") {
  abi::for_each_compiler_call(calls_,
                              [this](auto& call, const char* name) { library_.find(call, name); });
}

std::vector<std::string> KernelLibrary::Compiler::default_names() {
  return {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
}

void KernelLibrary::Compiler::check(int status, const char* what) const {
  if (status != abi::kCompilerSuccess) {
    throw Unsupported(fmt::format("NVRTC: {}: {} ({})", what, calls_.error_text(status), status));
  }
}

std::string KernelLibrary::Compiler::version() const {
  int major = 0;
  int minor = 0;
  check(calls_.version(&major, &minor), "its version");
  return fmt::format("{}.{}", major, minor);
}

std::pair<std::string, bool> KernelLibrary::Compiler::target(int architecture) const {
  int count = 0;
  check(calls_.count_architectures(&count), "its architectures");
  std::vector<int> known(static_cast<std::size_t>(std::max(count, 0)));
  if (!known.empty()) {
    check(calls_.list_architectures(known.data()), "its architectures");
  }
  const bool native = std::find(known.begin(), known.end(), architecture) != known.end();
  int newest = 0;
  for (const int one : known) {
    newest = one <= architecture ? std::max(newest, one) : newest;
  }
  if (!native && newest == 0) {
    throw Unsupported(fmt::format("NVRTC {} does not compile for sm_{}", version(), architecture));
  }
  return {native ? fmt::format("--gpu-architecture=sm_{}", architecture)
                 : fmt::format("--gpu-architecture=compute_{}", newest),
          native};
}

KernelLibrary::Compiler::OwnedProgram KernelLibrary::Compiler::compiled(
    const std::string& source, const std::vector<const char*>& options) const {
  abi::CompilerProgram handle = nullptr;
  check(calls_.create(&handle, source.c_str(), "plumb_kernels.cu", 0, nullptr, nullptr),
        "a program");
  OwnedProgram program(
      handle, [this](abi::CompilerProgram one) { static_cast<void>(calls_.destroy(&one)); });
  const int status = calls_.compile(handle, static_cast<int>(options.size()), options.data());
  if (status != abi::kCompilerSuccess) {
    throw Unsupported(
        fmt::format("NVRTC {}: {}: {}", version(), calls_.error_text(status), words(handle)));
  }
  return program;
}

std::string KernelLibrary::Compiler::words(abi::CompilerProgram program) const {
  std::size_t size = 0;
  std::string text;
  if (calls_.log_size(program, &size) == abi::kCompilerSuccess) {
    text.resize(size);
    static_cast<void>(calls_.log(program, text.data()));
  }
  return text;
}

std::string KernelLibrary::Compiler::compile(const std::string& source, int architecture) const {
  const auto [option, native] = target(architecture);
  const OwnedProgram program = compiled(source, {option.c_str(), kLanguage});
  std::size_t size = 0;
  check((native ? calls_.cubin_size : calls_.ptx_size)(program.get(), &size),
        "the size of the compiled kernels");
  std::string image(size, '\0');
  check((native ? calls_.cubin : calls_.ptx)(program.get(), image.data()), "the compiled kernels");
  return image;
}

std::string KernelLibrary::Compiler::resource_report(const std::string& source,
                                                     int architecture) const {
  const auto [option, native] = target(architecture);
  if (!native) {
    throw Unsupported(fmt::format("NVRTC {} has no assembler for sm_{}", version(), architecture));
  }
  const OwnedProgram program =
      compiled(source, {option.c_str(), kLanguage, "--ptxas-options=--verbose"});
  return words(program.get());
}

namespace {

/// Arguments that a launch points to while it is put into a stream.
struct Arguments {
  std::vector<void*> operands;
  std::vector<std::byte> shape;
};

}  // namespace

KernelLibrary::~KernelLibrary() {
  for (const auto& [call, kernel] : kernels_) {
    static_cast<void>(context_.driver().calls().module_unload(kernel.first));
  }
}

void KernelLibrary::require_compiler() {
  if (!compiler_ && missing_.empty()) {
    try {
      compiler_.emplace();
    } catch (const Error& error) {
      missing_ = error.what();
    }
  }
  if (!compiler_) {
    throw Unsupported(missing_);
  }
}

std::string KernelLibrary::compiler_version() {
  try {
    require_compiler();
    return compiler_->version();
  } catch (const Unsupported& missing) {
    return missing.what();
  }
}

abi::Function KernelLibrary::function(const KernelLaunch& launch) {
  const std::string name = launch.call + launch.shape_type;
  if (const auto found = kernels_.find(name); found != kernels_.end()) {
    return found->second.second;
  }
  require_compiler();
  const std::string entry = kernel_name(launch);
  const std::string image = compiler_->compile(kernel_sources() + entry_text(launch, entry),
                                               context_.device().architecture());
  const Driver& driver = context_.driver();
  abi::Module module = nullptr;
  driver.check(driver.calls().module_load_data(&module, image.c_str()), "loading a kernel");
  abi::Function function = nullptr;
  const int status = driver.calls().module_get_function(&function, module, entry.c_str());
  if (status != abi::kDriverSuccess) {
    static_cast<void>(driver.calls().module_unload(module));
    driver.check(status, "a kernel");
  }
  kernels_.emplace(name, std::pair(module, function));
  return function;
}

DeviceStep KernelLibrary::step(const KernelLaunch& launch,
                               const std::vector<std::size_t>& buffers) {
  DeviceStep step;
  step.buffers = buffers_of(launch, buffers);
  step.bind = [this, launch, buffers, kernel = function(launch)](
                  std::span<const abi::DevicePointer> addresses, abi::DevicePointer) {
    const auto arguments = std::make_shared<Arguments>();
    arguments->operands.resize(launch.addresses);
    for (std::size_t i = 0; i < launch.operands.size(); ++i) {
      arguments->operands.at(i) = abi::address_of(addresses[buffers.at(launch.operands[i])]);
    }
    arguments->shape = launch.shape;
    return DeviceLaunch([&driver = context_.driver(),
                         kernel,
                         arguments,
                         blocks = launch.blocks,
                         threads = launch.threads](abi::Stream stream) {
      void* parameters[] = {arguments->operands.data(), arguments->shape.data()};
      driver.check(driver.calls().launch_kernel(
                       kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr),
                   "launching a kernel");
    });
  };
  return step;
}

}  // namespace plumb::cuda
