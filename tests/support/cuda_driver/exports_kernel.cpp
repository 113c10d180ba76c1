// SPDX-License-Identifier: Apache-2.0
// Entry points of libcuda.so.1: modules, functions and launches.
#include "tests/support/cuda_driver/export.hpp"
#include "tests/support/cuda_driver/kernel_module.hpp"

namespace plumb::stand_in {
namespace {

constexpr unsigned kMaxThreads = 1024;       // of a block, by the programming guide's table
constexpr unsigned kMaxBlocks = 0x7fffffff;  // of a grid's first axis; 65535 of the others
constexpr unsigned kMaxOtherBlocks = 65535;

bool fits(const Launch& launch) {
  const auto& [x, y, z] = launch.grid;
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  return x > 0 && y > 0 && z > 0 && x <= kMaxBlocks && y <= kMaxOtherBlocks &&
         z <= kMaxOtherBlocks && threads > 0 && threads <= kMaxThreads;
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace

PLUMB_EXPORT int cuModuleLoadData(void** module, const void* image) {
  PLUMB_UNSAFE_CALL("cuModuleLoadData");
  auto loaded = load_module(static_cast<const char*>(image));
  if (loaded == nullptr) {
    return kInvalidImage;
  }
  *module = loaded.get();
  device.modules.emplace(*module, std::move(loaded));
  return kSuccess;
}

PLUMB_EXPORT int cuModuleUnload(void* module) {
  PLUMB_UNSAFE_CALL("cuModuleUnload");
  const auto at = device.modules.find(module);
  if (at == device.modules.end()) {
    device.found_dead_handle("module", module);
    return kInvalidHandle;
  }
  for (const auto& [name, function] : at->second->functions) {
    function->loaded = false;
  }
  device.destroyed.insert(module);
  device.old_modules.push_back(std::move(at->second));
  device.modules.erase(at);
  return kSuccess;
}

PLUMB_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  PLUMB_CALL("cuModuleGetFunction");
  const auto at = device.modules.find(module);
  if (at == device.modules.end()) {
    device.found_dead_handle("module", module);
    return kInvalidHandle;
  }
  const auto found = at->second->functions.find(name);
  if (found == at->second->functions.end()) {
    return kNotFound;
  }
  *function = found->second.get();
  return kSuccess;
}

PLUMB_EXPORT int cuLaunchKernel(void* function,
                                unsigned grid_x,
                                unsigned grid_y,
                                unsigned grid_z,
                                unsigned block_x,
                                unsigned block_y,
                                unsigned block_z,
                                unsigned shared,
                                void* stream,
                                void** parameters,
                                void** extra) {
  PLUMB_CALL("cuLaunchKernel");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr || function == nullptr) {
    return kInvalidHandle;
  }
  const auto* const kernel = static_cast<const KernelFunction*>(function);
  if (!kernel->loaded) {
    device.found_dead_handle("kernel of a module", function);
    return kInvalidHandle;
  }
  if (kernel->run == nullptr) {
    return kInvalidImage;
  }
  auto launch = std::make_shared<Launch>();
  launch->function = kernel;
  launch->grid = {grid_x, grid_y, grid_z};
  launch->block = {block_x, block_y, block_z};
  launch->dynamic_shared = shared;
  if (!fits(*launch) || parameters == nullptr || extra != nullptr) {
    return kInvalidValue;
  }
  // "the actual kernel parameter will be copied" from where each pointer points.
  for (std::size_t i = 0; i < kernel->parameter_bytes.size(); ++i) {
    const auto* const from = static_cast<const std::byte*>(parameters[i]);
    launch->values.emplace_back(from, from + kernel->parameter_bytes[i]);
  }
  for (auto& value : launch->values) {
    launch->pointers.push_back(value.data());
  }
  return device.enqueue(*target, kernel_operation(std::move(launch)));
}

PLUMB_EXPORT int cuKernelGetFunction(void** function, void* /*kernel*/) {
  *function = nullptr;
  return kInvalidHandle;  // no node of the stand-in has a kernel without a function
}

PLUMB_EXPORT int cuFuncGetName(const char** name, void* function) {
  *name = static_cast<const KernelFunction*>(function)->name.c_str();
  return kSuccess;
}

PLUMB_EXPORT int cuFuncGetAttribute(int* value, int /*attribute*/, void* /*function*/) {
  *value = 0;
  return kSuccess;
}
