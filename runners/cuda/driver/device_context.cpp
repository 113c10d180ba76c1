// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_context.hpp"

#include <algorithm>
#include <filesystem>

namespace plumb::cuda {

DeviceContext::DeviceContext(const Device& device, std::optional<int> harness)
    : device_(device), lock_(device.uuid(), std::filesystem::temp_directory_path(), harness) {
  driver().check(driver().calls().primary_context_retain(&context_, device.number()),
                 "the GPU's context");
  // The destructor does not run if this constructor throws, so the context is released here.
  try {
    use();
  } catch (...) {
    static_cast<void>(driver().calls().primary_context_release(device_.number()));
    throw;
  }
  driver().add_contexts(1);
}

DeviceContext::~DeviceContext() {
  driver().add_contexts(-1);
  static_cast<void>(driver().calls().context_synchronize());
  static_cast<void>(driver().calls().primary_context_release(device_.number()));
}

void DeviceContext::use() const {
  driver().check(driver().calls().context_set_current(context_), "making the context current");
}

DeviceContext::Memory DeviceContext::memory() const {
  Memory memory;
  driver().check(driver().calls().mem_get_info(&memory.free, &memory.total),
                 "the GPU's free memory");
  return memory;
}

Bytes DeviceContext::free_memory() const {
  return Bytes{static_cast<std::int64_t>(memory().free)};
}

Bytes DeviceContext::held_memory() const {
  const Memory now = memory();
  return Bytes{static_cast<std::int64_t>(now.total - std::min(now.free, now.total))};
}

}  // namespace plumb::cuda
