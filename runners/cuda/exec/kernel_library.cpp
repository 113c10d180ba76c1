// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/kernel_library.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
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
