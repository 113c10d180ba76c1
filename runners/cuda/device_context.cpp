// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/device_context.hpp"

#include <cstddef>

namespace plumb::cuda {

DeviceContext::DeviceContext(const Device& device) : device_(device), lock_(device.uuid()) {
  driver().check(driver().calls().primary_context_retain(&context_, device.number()),
                 "the GPU's context");
  use();
}

DeviceContext::~DeviceContext() {
  static_cast<void>(driver().calls().context_synchronize());
  static_cast<void>(driver().calls().primary_context_release(device_.number()));
}

void DeviceContext::use() const {
  driver().check(driver().calls().context_set_current(context_), "making the context current");
}

Bytes DeviceContext::free_memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  driver().check(driver().calls().mem_get_info(&free, &total), "the GPU's free memory");
  return Bytes{static_cast<std::int64_t>(free)};
}

}  // namespace plumb::cuda
