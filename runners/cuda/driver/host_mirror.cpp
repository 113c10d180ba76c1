// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/host_mirror.hpp"

#include <utility>

namespace plumb::cuda {

HostMirror::HostMirror(const Driver& driver, abi::DevicePointer buffer, std::size_t bytes)
    : driver_(driver), buffer_(buffer) {
  void* memory = nullptr;
  driver.check(driver.calls().mem_alloc_host(&memory, bytes), "taking page-locked memory");
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

HostMirror::~HostMirror() {
  if (!bytes_.empty()) {
    static_cast<void>(driver_.calls().mem_free_host(bytes_.data()));
  }
}

HostMirror::HostMirror(HostMirror&& other) noexcept
    : driver_(other.driver_), buffer_(other.buffer_), bytes_(std::exchange(other.bytes_, {})) {}

void HostMirror::enqueue_upload(abi::Stream stream) const {
  driver_.check(
      driver_.calls().memcpy_to_device_async(buffer_, bytes_.data(), bytes_.size(), stream),
      "a copy to the GPU");
}

void HostMirror::enqueue_download(abi::Stream stream) const {
  driver_.check(driver_.calls().memcpy_to_host_async(bytes_.data(), buffer_, bytes_.size(), stream),
                "a copy from the GPU");
}

}  // namespace plumb::cuda
