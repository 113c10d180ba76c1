// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {

/// Owner of bytes in the GPU's memory, aligned to 256 bytes. The context must be current and
/// outlive it.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Allocates `bytes`, or nothing for 0. Throws std::bad_alloc.
  DeviceMemory(const Driver& driver, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] abi::DevicePointer address() const { return address_; }  ///< 0: nothing is owned
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  const Driver* driver_ = nullptr;
  abi::DevicePointer address_ = 0;
  std::size_t bytes_ = 0;
};

/// Puts into a stream that each of `bytes` bytes becomes `value`. Throws DriverRefusal.
void set_bytes(const Driver& driver,
               abi::DevicePointer to,
               unsigned char value,
               std::size_t bytes,
               abi::Stream stream);
/// Copies to the GPU and waits for it. Throws DriverRefusal.
void upload(const Driver& driver, abi::DevicePointer to, std::span<const std::byte> bytes);
/// Copies from the GPU and waits for it. Throws DriverRefusal.
void download(const Driver& driver, std::span<std::byte> bytes, abi::DevicePointer from);

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
