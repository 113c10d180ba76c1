// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {

/// Owner of page-locked host memory that mirrors a buffer on the GPU. Copies between the two go
/// straight, in the order of a stream. The context must be current and outlive it.
class HostMirror {
 public:
  /// Allocates the host memory. Throws std::bad_alloc.
  HostMirror(const Driver& driver, abi::DevicePointer buffer, std::size_t bytes);
  ~HostMirror();
  HostMirror(HostMirror&& other) noexcept;
  HostMirror& operator=(HostMirror&& other) = delete;
  HostMirror(const HostMirror&) = delete;
  HostMirror& operator=(const HostMirror&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  /// Copies to the GPU, without waiting. Throws DriverRefusal.
  void enqueue_upload(abi::Stream stream) const;
  /// Copies from the GPU, without waiting. Throws DriverRefusal.
  void enqueue_download(abi::Stream stream) const;

 private:
  const Driver& driver_;
  abi::DevicePointer buffer_;
  std::span<std::byte> bytes_;
};

}  // namespace plumb::cuda
