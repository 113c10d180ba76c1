// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_memory.hpp"

#include <utility>

namespace plumb::cuda {

DeviceMemory::DeviceMemory(const Driver& driver, std::size_t bytes)
    : driver_(&driver), bytes_(bytes) {
  if (bytes > 0) {
    driver.check(driver.calls().mem_alloc(&address_, bytes), "taking memory of the GPU");
  }
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) {
    static_cast<void>(driver_->calls().mem_free(address_));
  }
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : driver_(other.driver_),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void set_bytes(const Driver& driver,
               abi::DevicePointer to,
               unsigned char value,
               std::size_t bytes,
               abi::Stream stream) {
  if (bytes > 0) {
    driver.check(driver.calls().memset_bytes(to, value, bytes, stream), "setting the GPU's memory");
  }
}

void upload(const Driver& driver, abi::DevicePointer to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) {
    driver.check(driver.calls().memcpy_to_device(to, bytes.data(), bytes.size()),
                 "a copy to the GPU");
    // From pageable memory the call returns once it has read the bytes. The copy itself is work of
    // the legacy stream, which streams of their own do not wait for.
    driver.check(driver.calls().stream_synchronize(nullptr), "the end of a copy to the GPU");
  }
}

void download(const Driver& driver, std::span<std::byte> bytes, abi::DevicePointer from) {
  if (!bytes.empty()) {
    driver.check(driver.calls().memcpy_to_host(bytes.data(), from, bytes.size()),
                 "a copy from the GPU");
  }
}

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
